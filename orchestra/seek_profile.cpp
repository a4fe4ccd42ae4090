#include "orchestra/seek_profile.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace unisono::orchestra {

namespace {

constexpr double bytes_of_sector = 512;

bool ascends(std::vector<SeekProfile::Point> const& points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!(points[i].fraction >= 0 && points[i].ms >= 0)) return false;
        if (i > 0 &&
            (points[i].fraction <= points[i - 1].fraction || points[i].ms < points[i - 1].ms))
            return false;
    }
    return true;
}

std::optional<std::vector<SeekProfile::Point>> read_points(std::string const& path) {
    std::ifstream file(path);
    auto const json = nlohmann::json::parse(file, nullptr, false);
    if (!json.is_object()) return {};
    std::vector<SeekProfile::Point> points;
    try {
        for (auto const& point : json.at("points")) points.push_back({point.at(0), point.at(1)});
    } catch (nlohmann::json::exception const&) {
        return {};
    }
    return points;
}

}  // namespace

std::optional<SeekProfile> SeekProfile::from_points(std::vector<Point> points,
                                                    double capacity_bytes) {
    if (!(capacity_bytes > 0) || !ascends(points)) return {};
    SeekProfile profile;
    profile.points_ = std::move(points);
    profile.capacity_sectors_ = capacity_bytes / bytes_of_sector;
    return profile;
}

SeekProfile SeekProfile::desktop_7200rpm(double capacity_bytes) {
    constexpr double track_ms = 0.6;
    constexpr double average_ms = 8.0;
    constexpr double half_turn_ms = 60'000.0 / 7200 / 2;
    // The mean of sqrt(x) over random pairs, whose density is 2 (1 - x), is 8/15.
    constexpr double root_ms = (average_ms - track_ms) * 15 / 8;
    std::vector<Point> points{{0, half_turn_ms}};
    for (int halvings = 20; halvings >= 0; --halvings) {
        double const fraction = std::exp2(-halvings);
        points.push_back({fraction, half_turn_ms + track_ms + root_ms * std::sqrt(fraction)});
    }
    return *from_points(std::move(points), std::max(capacity_bytes, bytes_of_sector));
}

std::optional<SeekProfile> SeekProfile::find(std::string const& name, double capacity_bytes,
                                             std::string& problem) {
    if (name == "7200rpm") return desktop_7200rpm(capacity_bytes);
    if (name == "none") return SeekProfile{};
    auto points = read_points(name);
    if (!points) {
        problem = "seek profile '" + name +
                  "': valid is 7200rpm, none, or a file {\"points\": [[fraction, ms], ...]}";
        return {};
    }
    auto profile = from_points(std::move(*points), capacity_bytes);
    if (!profile) problem = name + ": points must ascend, in distance and in time";
    return profile;
}

double SeekProfile::at_ms(double gap_sectors) const {
    if (points_.empty() || gap_sectors <= 0) return 0;
    auto const fraction = gap_sectors / capacity_sectors_;
    auto const above = std::ranges::upper_bound(points_, fraction, {}, &Point::fraction);
    if (above == points_.end()) return points_.back().ms;
    if (above == points_.begin()) return above->ms;
    auto const below = above - 1;
    auto const share = (fraction - below->fraction) / (above->fraction - below->fraction);
    return below->ms + share * (above->ms - below->ms);
}

}  // namespace unisono::orchestra
