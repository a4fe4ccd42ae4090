#include "simulated/read_backend.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace unisono::simulated {
namespace {

class ReadBackend final : public Backend {
public:
    ReadBackend(SimulatedTeam& team, Layout layout) : team_{team}, layout_{std::move(layout)} {}

    [[nodiscard]] std::string_view name() const override { return "modelled servers"; }
    [[nodiscard]] bool overlaps() const override { return true; }
    Error sync() override { return {}; }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        return start(direction, list, Order::any)->wait();
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order /*order*/) override {
        if (direction == Direction::write) throw std::logic_error{"modelled servers only read"};
        auto access = std::make_unique<Access>(team_);
        for (auto const& transfer : list) {
            access->result.bytes += transfer.bytes;
            for (auto at = transfer.offset, end = at + transfer.bytes; at < end;) {
                auto const unit = layout_.unit_at(at);
                auto const next = std::min(end, (at / unit + 1) * unit);
                add(*access, layout_.server_of(at), layout_.object_offset(at), next - at);
                at = next;
            }
        }
        for (auto const& [server, object] : access->gathered)
            team_.begin_read(server, object, access->reads);
        return access;
    }

private:
    struct Access final : PendingIo {
        explicit Access(SimulatedTeam& team) : team{team} {}
        IoResult wait() override {
            team.finish_reads(*reads);
            return result;
        }
        SimulatedTeam& team;
        IoResult result;
        std::shared_ptr<Reads> reads = std::make_shared<Reads>();
        std::map<std::uint32_t, Extent> gathered;  // by server: what is not asked for yet
    };

    void add(Access& access, std::uint32_t server, std::uint64_t object_offset,
             std::uint64_t bytes) {
        auto& object = access.gathered[server];
        bool const follows = object.end == object_offset && !object.empty() &&
                             object.bytes() + bytes <= client_request_bytes;
        if (follows) {
            object.end += bytes;
            return;
        }
        if (!object.empty()) team_.begin_read(server, object, access.reads);
        object = {object_offset, object_offset + bytes};
    }

    SimulatedTeam& team_;
    Layout layout_;
};

}  // namespace

std::unique_ptr<Backend> make_read_backend(SimulatedTeam& team, Layout layout) {
    return std::make_unique<ReadBackend>(team, std::move(layout));
}

}  // namespace unisono::simulated
