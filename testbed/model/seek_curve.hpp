#pragma once

namespace unisono::testbed {

/// Time of a seek over a fraction x of the full stroke: track + root * sqrt(x) + linear * x.
struct SeekCurve {
    double track_ms = 0;
    double root_ms = 0;
    double linear_ms = 0;

    /// 0 for x == 0. Pure, O(1).
    [[nodiscard]] double at_ms(double fraction) const;
};

/// The curve through three published points: one track, the mean over random pairs of positions,
/// the full stroke.
///
/// @param full_ms  0 when it is not published: then the square-root law through the other two
/// Where the three points would make a coefficient negative, the square-root law is used, too.
/// Source: Lee & Katz, "An analytic performance model of disk arrays" (SIGMETRICS 1993).
SeekCurve fit_seek_curve(double track_ms, double average_ms, double full_ms);

}  // namespace unisono::testbed
