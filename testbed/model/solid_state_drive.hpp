#pragma once

#include <queue>

#include "model/drive.hpp"
#include "model/link.hpp"

namespace unisono::testbed {

/// A drive without positions: a command takes a channel for its latency, then the interface for its
/// bytes. With all figures 0 it is the `instant` drive.
class SolidStateDrive final : public Drive {
public:
    explicit SolidStateDrive(DriveProfile const& profile);

    [[nodiscard]] std::uint32_t free_slots() const override;
    void submit(Time now, Command const& command) override;
    [[nodiscard]] Time next_event() const override;
    void advance(Time until, std::vector<Finished>& finished) override;
    void drop_caches(Time /*now*/) override {}
    [[nodiscard]] DriveCounters const& counters() const override { return counters_; }

private:
    struct Later {
        bool operator()(Finished const& a, Finished const& b) const {
            return a.time != b.time ? a.time > b.time : a.id > b.id;
        }
    };

    [[nodiscard]] Time latency_of(Operation operation) const;

    DriveProfile profile_;
    std::vector<Time> channel_free_;
    Link interface_;
    std::priority_queue<Finished, std::vector<Finished>, Later> under_way_;
    DriveCounters counters_;
};

}  // namespace unisono::testbed
