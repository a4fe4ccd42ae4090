#include "model/profile.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

namespace unisono::testbed {

namespace {

using Json = nlohmann::json;

template <class Part>
struct Entry {
    char const* name;
    double Part::*member;
};

constexpr Entry<DriveProfile> drive_entries[] = {
    {"capacity_bytes", &DriveProfile::capacity_bytes},
    {"interface_mb_s", &DriveProfile::interface_mb_s},
    {"queue_depth", &DriveProfile::queue_depth},
    {"overhead_ms", &DriveProfile::overhead_ms},
    {"rpm", &DriveProfile::rpm},
    {"surfaces", &DriveProfile::surfaces},
    {"zones", &DriveProfile::zones},
    {"outer_mb_s", &DriveProfile::outer_mb_s},
    {"inner_mb_s", &DriveProfile::inner_mb_s},
    {"seek_track_ms", &DriveProfile::seek_track_ms},
    {"seek_average_ms", &DriveProfile::seek_average_ms},
    {"seek_full_ms", &DriveProfile::seek_full_ms},
    {"write_settle_ms", &DriveProfile::write_settle_ms},
    {"head_switch_ms", &DriveProfile::head_switch_ms},
    {"cylinder_switch_ms", &DriveProfile::cylinder_switch_ms},
    {"segments", &DriveProfile::segments},
    {"segment_bytes", &DriveProfile::segment_bytes},
    {"join_read_ahead", &DriveProfile::join_read_ahead},
    {"write_cache_bytes", &DriveProfile::write_cache_bytes},
    {"destage_idle_ms", &DriveProfile::destage_idle_ms},
    {"command_age_ms", &DriveProfile::command_age_ms},
    {"read_us", &DriveProfile::read_us},
    {"write_us", &DriveProfile::write_us},
    {"flush_us", &DriveProfile::flush_us},
    {"channels", &DriveProfile::channels},
};

constexpr Entry<HostProfile> host_entries[] = {
    {"request_us", &HostProfile::request_us},
    {"workers", &HostProfile::workers},
    {"requests_per_file", &HostProfile::requests_per_file},
    {"block_bytes", &HostProfile::block_bytes},
    {"page_cache_bytes", &HostProfile::page_cache_bytes},
    {"read_ahead_bytes", &HostProfile::read_ahead_bytes},
    {"dirty_background_bytes", &HostProfile::dirty_background_bytes},
    {"dirty_limit_bytes", &HostProfile::dirty_limit_bytes},
    {"dirty_expire_ms", &HostProfile::dirty_expire_ms},
    {"writeback_depth", &HostProfile::writeback_depth},
    {"writeback_file_bytes", &HostProfile::writeback_file_bytes},
};

constexpr Entry<LinkProfile> link_entries[] = {
    {"server_mb_s", &LinkProfile::server_mb_s},
    {"client_mb_s", &LinkProfile::client_mb_s},
    {"latency_us", &LinkProfile::latency_us},
};

[[noreturn]] void refuse(std::string const& what) { throw std::runtime_error("profile: " + what); }

std::string source_of(std::string const& name, Json const& json) {
    if (!json.contains("source") || !json["source"].is_string() || json["source"].empty())
        refuse(name + " has no \"source\"");
    return json["source"];
}

Figure read_figure(std::string const& name, Json const& json) {
    if (!json.is_object() || !json.contains("value") || !json["value"].is_number())
        refuse(name + " has no number \"value\"");
    if (json["value"] < 0) refuse(name + " is negative");
    return {.name = name, .value = json["value"], .word = {}, .source = source_of(name, json)};
}

// Nothing where the host does not read ahead.
void read_kind_of_read_ahead(Json const& host, HostProfile& profile, std::vector<Figure>& figures) {
    if (!host.contains("read_ahead")) return;
    auto const& json = host["read_ahead"];
    auto const word = json.is_object() ? json.value("value", "") : "";
    auto const kind = read_ahead_kind(word);
    if (!kind) refuse("host.read_ahead is not windows, on_demand, context or careful_context");
    profile.read_ahead = *kind;
    figures.push_back({"host.read_ahead", 0, word, source_of("host.read_ahead", json)});
}

template <class Part>
void read_part(std::string const& section, Json const& json, std::span<Entry<Part> const> entries,
               Part& part, std::vector<Figure>& figures) {
    for (auto const& entry : entries)
        if (json.contains(entry.name)) {
            figures.push_back(read_figure(section + "." + entry.name, json[entry.name]));
            part.*entry.member = figures.back().value;
        }
    for (auto const& item : json.items()) {
        auto const& name = item.key();
        if (name == "kind" || name == "read_ahead") continue;
        bool const known = std::any_of(entries.begin(), entries.end(),
                                       [&](auto const& entry) { return entry.name == name; });
        if (!known) refuse(std::string(section).append(".").append(name).append(" is unknown"));
    }
}

void need(bool good, char const* what) {
    if (!good) refuse(what);
}

void check_rotating(DriveProfile const& drive) {
    need(drive.rpm > 0, "drive.rpm is missing");
    need(drive.surfaces >= 1 && drive.zones >= 1, "drive.surfaces and drive.zones begin at 1");
    need(drive.outer_mb_s > 0 && drive.inner_mb_s > 0,
         "drive.outer_mb_s and drive.inner_mb_s are needed");
    need(drive.seek_average_ms >= drive.seek_track_ms,
         "drive.seek_average_ms is below drive.seek_track_ms");
    need(drive.cylinder_switch_ms >= drive.seek_track_ms,
         "drive.cylinder_switch_ms is below drive.seek_track_ms");
}

void check(Profile const& profile) {
    auto const& drive = profile.drive;
    need(drive.kind == "rotating" || drive.kind == "solid_state" || drive.kind == "instant",
         "drive.kind is not rotating, solid_state or instant");
    need(drive.capacity_bytes >= 1 << 20, "drive.capacity_bytes is missing or below 1 MiB");
    need(drive.queue_depth >= 1, "drive.queue_depth begins at 1");
    if (drive.kind == "rotating") check_rotating(drive);
    if (drive.kind == "solid_state") need(drive.channels >= 1, "drive.channels begins at 1");
    need(profile.host.block_bytes >= 4096, "host.block_bytes is missing or below 4096");
    auto const& host = profile.host;
    need(host.workers == 0 || host.workers >= 1, "host.workers is between 0 and 1");
    if (host.page_cache_bytes == 0) return;
    need(host.writeback_depth >= 1, "host.writeback_depth begins at 1");
    need(host.dirty_background_bytes <= host.dirty_limit_bytes &&
             host.dirty_limit_bytes <= host.page_cache_bytes,
         "host.dirty_background_bytes, dirty_limit_bytes and page_cache_bytes are not ascending");
    need(host.dirty_expire_ms > 0, "host.dirty_expire_ms is missing");
}

std::pair<Profile, std::vector<Figure>> read_all(std::string_view text) {
    auto const json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) refuse("this is no JSON");
    Profile profile;
    std::vector<Figure> figures;
    try {
        profile.name = json.at("name");
        profile.summary = json.at("summary");
        profile.drive.kind = json.at("drive").at("kind");
        read_part<DriveProfile>("drive", json.at("drive"), drive_entries, profile.drive, figures);
        auto const& host = json.at("host");
        read_part<HostProfile>("host", host, host_entries, profile.host, figures);
        read_kind_of_read_ahead(host, profile.host, figures);
        need(profile.host.read_ahead_bytes == 0 || host.contains("read_ahead"),
             "host.read_ahead is missing");
        read_part<LinkProfile>("link", json.at("link"), link_entries, profile.link, figures);
    } catch (Json::exception const& error) {
        refuse(error.what());
    }
    check(profile);
    return {profile, figures};
}

}  // namespace

Profile parse_profile(std::string_view json) { return read_all(json).first; }

std::vector<Figure> figures_of(std::string_view json) { return read_all(json).second; }

}  // namespace unisono::testbed
