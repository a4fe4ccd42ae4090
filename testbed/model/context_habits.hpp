#pragma once

#include <algorithm>

#include "model/block_request.hpp"
#include "model/time.hpp"

namespace unisono::testbed {

/// So long a drive is kept idle for the next request of the context that has it. Linux: cfq's and
/// bfq's slice_idle.
inline constexpr Time slice_idle = 8 * millisecond;

/// What a scheduler learns of a context: how long it thinks, and how far it jumps. Means of which
/// the newest sample is 1/8; a mean jump of more than 8 * 1024 sectors is "seeky".
/// Source: Linux 2.6.2x block/cfq-iosched.c.
class ContextHabits {
public:
    void sent(Time now, Command const& command) {
        if (last_end_ >= 0) {
            auto const think_ns = static_cast<double>(std::min(now - last_end_, 2 * slice_idle));
            auto const jump = command.sector > last_sector_ ? command.sector - last_sector_
                                                            : last_sector_ - command.sector;
            double const weight = samples_ == 0 ? 1 : 1.0 / 8;
            think_mean_ns_ += weight * (think_ns - think_mean_ns_);
            seek_mean_sectors_ += weight * (static_cast<double>(jump) - seek_mean_sectors_);
            ++samples_;
        }
        last_sector_ = command.end();
    }

    void served(Time now) { last_end_ = now; }

    /// Its next request will be here soon, and near.
    [[nodiscard]] bool worth_idling() const {
        if (samples_ < samples_to_trust) return true;
        return think_mean_ns_ <= static_cast<double>(slice_idle) &&
               seek_mean_sectors_ <= seeky_sectors;
    }

private:
    static constexpr double seeky_sectors = 8 * 1024;
    static constexpr int samples_to_trust = 4;

    std::uint64_t last_sector_ = 0;
    Time last_end_ = -1;  // when its last request was done
    double think_mean_ns_ = 0;
    double seek_mean_sectors_ = 0;
    int samples_ = 0;
};

}  // namespace unisono::testbed
