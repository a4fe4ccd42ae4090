#include "simulated/simulated_backend.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/run.hpp"

namespace unisono::simulated {
namespace {

// What of the list lies before its byte number `bytes`, or from there on.
std::pair<std::vector<Transfer>, std::vector<Transfer>> cut(std::span<Transfer const> list,
                                                            std::uint64_t bytes) {
    std::pair<std::vector<Transfer>, std::vector<Transfer>> parts;
    for (auto const& transfer : list) {
        auto const first = std::min(transfer.bytes, bytes);
        bytes -= first;
        if (first > 0) parts.first.push_back({transfer.offset, transfer.memory, first});
        if (first < transfer.bytes)
            parts.second.push_back(
                {transfer.offset + first, transfer.memory + first, transfer.bytes - first});
    }
    return parts;
}

class SimulatedBackend final : public Backend {
public:
    SimulatedBackend(std::unique_ptr<Backend> inner, SimulatedTeam& team)
        : inner_{std::move(inner)}, team_{team} {}

    [[nodiscard]] std::string_view name() const override { return inner_->name(); }
    [[nodiscard]] bool overlaps() const override { return team_.conditions().overlaps; }
    Error sync() override { return inner_->sync(); }
    Error close() override { return inner_->close(); }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        auto const bytes = total_bytes(list);
        if (bytes == 0) return inner_->perform(direction, list);
        auto const code = team_.begin_access(bytes);
        return code == 0 ? inner_->perform(direction, list) : fail(direction, list, code);
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order order) override {
        if (!overlaps()) return Backend::start(direction, list, order);
        // Any part of it may be done at once, the rest when somebody waits for it.
        auto const bytes = total_bytes(list);
        auto parts = cut(list, bytes == 0 ? 0 : team_.below(bytes + 1));
        return std::make_unique<Access>(*this, direction, perform(direction, parts.first),
                                        std::move(parts.second));
    }

private:
    class Access final : public PendingIo {
    public:
        Access(SimulatedBackend& backend, Direction direction, IoResult done,
               std::vector<Transfer> rest)
            : backend_{backend}, direction_{direction}, done_{done}, rest_{std::move(rest)} {}
        ~Access() override { finish(); }
        IoResult wait() override {
            finish();
            return done_;
        }

    private:
        void finish() {
            auto const rest = std::exchange(rest_, {});
            if (done_.stopped_at != IoResult::nowhere || rest.empty()) return;
            auto const last = backend_.perform(direction_, rest);
            done_ = {done_.bytes + last.bytes, last.stopped_at, last.error};
        }

        SimulatedBackend& backend_;
        Direction direction_;
        IoResult done_;
        std::vector<Transfer> rest_;
    };

    IoResult fail(Direction direction, std::span<Transfer const> list, int code) {
        auto const [before, after] = cut(list, team_.below(total_bytes(list)));
        auto result = inner_->perform(direction, before);
        if (result.stopped_at != IoResult::nowhere) return result;  // the file ends before it
        team_.note_failed(direction);
        result.stopped_at = after[0].offset;
        result.error = {code, "simulated", after[0].offset};
        return result;
    }

    std::unique_ptr<Backend> inner_;
    SimulatedTeam& team_;
};

}  // namespace

std::unique_ptr<Backend> make_simulated_backend(std::unique_ptr<Backend> inner,
                                                SimulatedTeam& team) {
    return std::make_unique<SimulatedBackend>(std::move(inner), team);
}

}  // namespace unisono::simulated
