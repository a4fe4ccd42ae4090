#include "model/seek_curve.hpp"

#include <cmath>

namespace unisono::testbed {

double SeekCurve::at_ms(double fraction) const {
    if (fraction <= 0) return 0;
    return track_ms + root_ms * std::sqrt(fraction) + linear_ms * fraction;
}

SeekCurve fit_seek_curve(double track_ms, double average_ms, double full_ms) {
    double const root = (-10 * track_ms + 15 * average_ms - 5 * full_ms) / 3;
    double const linear = (7 * track_ms - 15 * average_ms + 8 * full_ms) / 3;
    if (full_ms > 0 && root >= 0 && linear >= 0) return {track_ms, root, linear};
    // The mean of sqrt(x) over random pairs, whose density is 2 (1 - x), is 8/15.
    return {track_ms, (average_ms - track_ms) * 15 / 8, 0};
}

}  // namespace unisono::testbed
