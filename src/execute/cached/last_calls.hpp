#pragma once

#include <cstdint>
#include <optional>

#include "exchange/agreement.hpp"
#include "execute/request.hpp"

namespace unisono {

/// The last collective calls of this rank, and whether the next one goes on like them. Local.
class LastCalls {
public:
    struct Call {
        std::uint64_t bytes = 0;
        Extent touched;
        double at_s = 0;
    };
    static Call look_at(Request const& request, CallRecord const& record) {
        Call call{.bytes = request.positions.bytes(), .at_s = record.now_s()};
        if (!request.positions.empty()) call.touched = touched(request.view, request.positions);
        return call;
    }

    /// How much further on in the file the call begins than the last one of its direction, if it is
    /// as long; else CacheNeeds::no_repeat. A write makes what was read before it no last call.
    [[nodiscard]] std::uint64_t advance_of(Direction direction, Call const& call) const {
        auto const& last = last_[direction];
        if (!last || call.bytes != last->bytes) return CacheNeeds::no_repeat;
        if (call.bytes == 0) return 0;
        auto const begin = call.touched.begin;
        return begin < last->touched.begin ? CacheNeeds::no_repeat : begin - last->touched.begin;
    }
    [[nodiscard]] bool repeats(Direction direction, Call const& call) const {
        return advance_of(direction, call) != CacheNeeds::no_repeat;
    }
    /// How many writes, with this one, came soon after one that they repeat, as in Facts.
    [[nodiscard]] std::uint32_t repeats_with(Direction direction, Call const& call) const {
        auto const soon = direction == Direction::write && repeats(direction, call) &&
                          call.at_s - last_[direction]->at_s <= soon_s_;
        return soon ? repeats_ + 1 : 0;
    }
    void set_soon(double soon_s) { soon_s_ = soon_s; }

    /// The call is the last one now.
    void note(Direction direction, Call const& call) {
        if (direction == Direction::write) {
            repeats_ = repeats_with(direction, call);
            last_[Direction::read].reset();
        }
        last_[direction] = call;
    }

private:
    double soon_s_ = 0;
    std::uint32_t repeats_ = 0;  // of the last write
    ByDirection<std::optional<Call>> last_;
};

}  // namespace unisono
