#pragma once

#include "orchestra/average.hpp"
#include "orchestra/time.hpp"

namespace unisono::orchestra {

/// When a program turns to its files, and how often: its characteristic time, the mean time from
/// one beginning of I/O to the next, is all that IO-SETS asks to know (Boito, Pallez, Teylo,
/// Vidal).
class Phases {
public:
    /// A request comes after the program wanted nothing for `quiet`.
    void arrived(Time now, Time quiet) {
        if (began_ != never && quiet < pause_min) return;
        if (began_ != never) period_s_.add(to_ms(now - began_) / 1e3);
        began_ = now;
    }
    /// `never` before the first.
    [[nodiscard]] Time began() const { return began_; }
    /// Seconds; 0 as long as there was one phase only.
    [[nodiscard]] double characteristic_s() const { return period_s_.value(); }

private:
    static constexpr Time pause_min = 100 * millisecond;

    Time began_ = never;
    SteadyMean period_s_;
};

}  // namespace unisono::orchestra
