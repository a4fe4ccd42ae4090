#include "orchestra/report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace unisono::orchestra {

namespace {

// Microseconds are enough, and short numbers make short reports.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }

}  // namespace

// As an array, because there is one for each program at each server.
template <class Part>
auto fields_of(Part& part) {
    return std::tie(part.requests, part.bytes, part.gap_sectors, part.reuse_ms, part.reuse_samples,
                    part.open_ms, part.open_samples, part.dedicated_ms, part.dedicated_samples,
                    part.slow_ms, part.slow_share, part.gap_sectors_linux, part.reuse_ms_linux);
}

void to_json(nlohmann::json& json, ServerPart const& part) {
    std::apply([&](auto const&... field) { json = {rounded(field)...}; }, fields_of(part));
}

void from_json(nlohmann::json const& json, ServerPart& part) {
    std::size_t index = 0;
    std::apply([&](auto&... field) { (json.at(index++).get_to(field), ...); }, fields_of(part));
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProgramReport, id, held, under_way, idle_ms, characteristic_s,
                                   phase_began_ms, files, servers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, now_ms, epoch, open, capacity_bytes, gap_sectors,
                                   gap_sectors_linux, pool_reuse_ms, pool_reuse_ms_linux,
                                   pool_reuse_samples, programs)

ProgramReport const* Report::find(std::string_view id) const {
    auto const found = std::ranges::find(programs, id, &ProgramReport::id);
    return found == programs.end() ? nullptr : &*found;
}

std::string show(Report report, std::size_t bytes_max) {
    std::ranges::stable_sort(report.programs, {}, &ProgramReport::idle_ms);
    for (;;) {
        auto text = nlohmann::json(report).dump();
        if (text.size() <= bytes_max || report.programs.empty()) return text;
        report.programs.resize(report.programs.size() / 2);
    }
}

std::optional<Report> parse_report(std::string_view text) {
    auto const json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return {};
    try {
        return json.get<Report>();
    } catch (nlohmann::json::exception const&) {
        return {};
    }
}

}  // namespace unisono::orchestra
