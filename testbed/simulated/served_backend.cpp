#include "simulated/served_backend.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace unisono::simulated {
namespace {

class ServedBackend final : public Backend {
public:
    ServedBackend(std::unique_ptr<Backend> inner, SimulatedTeam& team, Layout layout)
        : inner_{std::move(inner)}, team_{team}, layout_{std::move(layout)} {}

    [[nodiscard]] std::string_view name() const override { return inner_->name(); }
    [[nodiscard]] bool overlaps() const override { return true; }
    Error sync() override { return inner_->sync(); }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        return start(direction, list, Order::any)->wait();
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order /*order*/) override {
        auto access = std::make_unique<Access>(team_, direction, inner_->perform(direction, list));
        for (auto const& [server, asked] : asked_of_servers(list))
            access->crossings.emplace_back(
                server, team_.begin_crossing(direction, server, asked.bytes, asked.requests));
        return access;
    }

private:
    struct Asked {
        std::uint64_t bytes = 0;
        std::uint64_t requests = 0;
    };
    struct Access final : PendingIo {
        Access(SimulatedTeam& team, Direction direction, IoResult result)
            : team{team}, direction{direction}, result{result} {}
        IoResult wait() override {
            for (auto const& [server, crossing] : crossings)
                team.finish_crossing(direction, server, *crossing);
            return result;
        }
        SimulatedTeam& team;
        Direction direction;
        IoResult result;
        std::vector<std::pair<std::uint32_t, std::shared_ptr<Crossing>>> crossings;
    };

    // A client merges what is contiguous at a server up to a stripe.
    [[nodiscard]] std::map<std::uint32_t, Asked> asked_of_servers(
        std::span<Transfer const> list) const {
        std::map<std::uint32_t, Asked> asked;
        for (auto const& transfer : list)
            for (auto at = transfer.offset, end = at + transfer.bytes; at < end;) {
                auto const unit = layout_.unit_at(at);
                auto const bytes = std::min(end, (at / unit + 1) * unit) - at;
                auto& server = asked[layout_.server_of(at)];
                server.bytes += bytes;
                ++server.requests;
                at += bytes;
            }
        return asked;
    }

    std::unique_ptr<Backend> inner_;
    SimulatedTeam& team_;
    Layout layout_;
};

}  // namespace

std::unique_ptr<Backend> make_served_backend(std::unique_ptr<Backend> inner, SimulatedTeam& team,
                                             Layout layout) {
    return std::make_unique<ServedBackend>(std::move(inner), team, std::move(layout));
}

}  // namespace unisono::simulated
