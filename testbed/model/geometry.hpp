#pragma once

#include <cstdint>
#include <vector>

#include "model/profile.hpp"

namespace unisono::testbed {

inline constexpr std::uint64_t sector_bytes = 512;

/// Where a sector is on the platters.
struct Position {
    std::uint64_t cylinder = 0;
    std::uint32_t surface = 0;
    double stream_ns = 0;  ///< when a head that reads from sector 0 without a stop gets there
};

/// Zones, tracks and skew of a drive, made from its published rates.
///
/// Tracks are skewed so that a sequential transfer loses exactly one switch per track. Then one
/// number says it all: `stream_ns`, the time at which an endless sequential read would pass a
/// sector. Its remainder by a revolution is the sector's angle; a difference is a transfer time.
class Geometry {
public:
    explicit Geometry(DriveProfile const& drive);

    /// sector < sectors(). Cost: O(log zones).
    [[nodiscard]] Position locate(std::uint64_t sector) const;

    /// The sector that an endless sequential read has reached. Inverse of locate().
    [[nodiscard]] std::uint64_t sector_at(double stream_ns) const;

    [[nodiscard]] std::uint64_t sectors() const { return sectors_; }
    [[nodiscard]] std::uint64_t cylinders() const { return cylinders_; }
    [[nodiscard]] double revolution_ns() const { return revolution_ns_; }
    [[nodiscard]] std::uint32_t sectors_per_track(std::uint64_t sector) const;

private:
    struct Zone {
        std::uint64_t first_sector;
        std::uint64_t first_cylinder;
        double first_stream_ns;
        std::uint32_t track_sectors;
    };

    [[nodiscard]] Zone const& zone_of(std::uint64_t sector) const;

    std::vector<Zone> zones_;
    std::uint32_t surfaces_;
    std::uint64_t sectors_ = 0;
    std::uint64_t cylinders_ = 0;
    double revolution_ns_;
    double track_ns_;     // a revolution and the switch to the next surface
    double cylinder_ns_;  // all tracks of a cylinder and the switch to the next one
};

}  // namespace unisono::testbed
