#include "model/geometry.hpp"

#include <algorithm>
#include <cmath>

namespace unisono::testbed {

namespace {

// Sectors of one track in a zone whose sustained rate, switches included, is `mb_s`.
std::uint32_t track_sectors_at(double mb_s, double cylinder_ns, std::uint32_t surfaces) {
    double const cylinder_bytes = mb_s * 1e-3 * cylinder_ns;
    return std::max(1U, static_cast<std::uint32_t>(cylinder_bytes / sector_bytes / surfaces));
}

}  // namespace

Geometry::Geometry(DriveProfile const& drive)
    : surfaces_(static_cast<std::uint32_t>(drive.surfaces)),
      sectors_(static_cast<std::uint64_t>(drive.capacity_bytes) / sector_bytes),
      revolution_ns_(60e9 / drive.rpm),
      track_ns_(revolution_ns_ + drive.head_switch_ms * 1e6),
      cylinder_ns_(track_ns_ * (surfaces_ - 1) + revolution_ns_ + drive.cylinder_switch_ms * 1e6) {
    auto const count = std::max(1U, static_cast<std::uint32_t>(drive.zones));
    std::uint64_t sectors_of_all = 0;  // of one cylinder in each zone
    for (std::uint32_t i = 0; i < count; ++i) {
        double const inwards = count > 1 ? static_cast<double>(i) / (count - 1) : 0;
        double const mb_s = drive.outer_mb_s + inwards * (drive.inner_mb_s - drive.outer_mb_s);
        auto const track_sectors = track_sectors_at(mb_s, cylinder_ns_, surfaces_);
        zones_.push_back({0, 0, 0, track_sectors});
        sectors_of_all += std::uint64_t{track_sectors} * surfaces_;
    }
    sectors_of_all = std::max<std::uint64_t>(sectors_of_all, 1);
    auto const zone_cylinders = (sectors_ + sectors_of_all - 1) / sectors_of_all;
    cylinders_ = zone_cylinders * count;
    for (std::uint32_t i = 1; i < count; ++i) {
        auto const& before = zones_[i - 1];
        auto const zone_sectors = zone_cylinders * surfaces_ * before.track_sectors;
        zones_[i].first_sector = before.first_sector + zone_sectors;
        zones_[i].first_cylinder = before.first_cylinder + zone_cylinders;
        zones_[i].first_stream_ns =
            before.first_stream_ns + static_cast<double>(zone_cylinders) * cylinder_ns_;
    }
}

Geometry::Zone const& Geometry::zone_of(std::uint64_t sector) const {
    auto const after =
        std::upper_bound(zones_.begin(), zones_.end(), sector,
                         [](std::uint64_t s, Zone const& zone) { return s < zone.first_sector; });
    return *(after - 1);
}

std::uint32_t Geometry::sectors_per_track(std::uint64_t sector) const {
    return zone_of(sector).track_sectors;
}

Position Geometry::locate(std::uint64_t sector) const {
    auto const& zone = zone_of(sector);
    auto const within = sector - zone.first_sector;
    auto const track = within / zone.track_sectors;
    auto const cylinder = track / surfaces_;
    auto const surface = static_cast<std::uint32_t>(track % surfaces_);
    double const turned = static_cast<double>(within % zone.track_sectors) / zone.track_sectors;
    return {zone.first_cylinder + cylinder, surface,
            zone.first_stream_ns + static_cast<double>(cylinder) * cylinder_ns_ +
                surface * track_ns_ + turned * revolution_ns_};
}

std::uint64_t Geometry::sector_at(double stream_ns) const {
    auto const after = std::upper_bound(
        zones_.begin() + 1, zones_.end(), stream_ns,
        [](double time_ns, Zone const& zone) { return time_ns < zone.first_stream_ns; });
    auto const& zone = *(after - 1);
    double const within_ns = std::max(0.0, stream_ns - zone.first_stream_ns);
    double const cylinder = std::floor(within_ns / cylinder_ns_);
    double const in_cylinder_ns = within_ns - cylinder * cylinder_ns_;
    double const surface = std::min(std::floor(in_cylinder_ns / track_ns_), surfaces_ - 1.0);
    double const turned = std::min((in_cylinder_ns - surface * track_ns_) / revolution_ns_, 1.0);
    auto const track =
        static_cast<std::uint64_t>(cylinder) * surfaces_ + static_cast<std::uint64_t>(surface);
    // A sector that is over but for rounding is over.
    auto const sectors = static_cast<std::uint64_t>(turned * zone.track_sectors + 1e-3);
    return std::min(zone.first_sector + track * zone.track_sectors + sectors, sectors_);
}

}  // namespace unisono::testbed
