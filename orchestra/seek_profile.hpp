#pragma once

#include <optional>
#include <string>
#include <vector>

namespace unisono::orchestra {

/// How long a disk takes to get to a sector, by the distance from where it is: the SeekTime of
/// iorchestrator-sc10, section III.B, which has it from a measured profile (Huang et al., FS2,
/// section 4.2). Like a measured one, it has the turn of the platter in it. A table, so that it can
/// come from anywhere but from the model that it is tried on.
class SeekProfile {
public:
    /// A point says: `fraction` of the disk away takes `ms`.
    struct Point {
        double fraction = 0;
        double ms = 0;
    };

    /// Points ascend in both; none: no distance takes any time. Between points it is linear, beyond
    /// the last as at the last. Nothing if they do not ascend or the capacity is not above 0.
    static std::optional<SeekProfile> from_points(std::vector<Point> points, double capacity_bytes);

    /// Another 7200 rpm drive than those of the test bed (HGST 7K8: 0.6 ms from track to track, 8.0
    /// ms on average, by the square root of the distance, and half a revolution), of the given
    /// size.
    static SeekProfile desktop_7200rpm(double capacity_bytes);

    /// "7200rpm", "none", or a file {"points": [[fraction, ms], ...]}. `problem` says why not.
    static std::optional<SeekProfile> find(std::string const& name, double capacity_bytes,
                                           std::string& problem);

    /// 0 for the very next sector.
    [[nodiscard]] double at_ms(double gap_sectors) const;

private:
    std::vector<Point> points_;
    double capacity_sectors_ = 1;
};

}  // namespace unisono::orchestra
