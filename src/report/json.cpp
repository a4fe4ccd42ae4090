#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/report.hpp"

namespace unisono {
namespace {

using Json = nlohmann::ordered_json;

Json spent_json(Spent const& spent, std::uint32_t ranks) {
    return {{"mean", spent.total_s / ranks}, {"longest", spent.longest_s}};
}

// A field's value; what is a mean over `ranks` is said so.
template <class Value>
Json json_of(Value const& value, std::uint32_t) {
    return value;
}

Json json_of(Spent const& spent, std::uint32_t ranks) { return spent_json(spent, ranks); }

template <class AnyPhase>
Json json_of(Times<AnyPhase> const& times, std::uint32_t ranks) {
    Json seconds = Json::object();
    auto const& names = phase_names<AnyPhase>;
    for (std::size_t phase = 0; phase < names.size(); ++phase)
        seconds[std::string(names[phase])] = spent_json(times.by_phase[phase], ranks);
    return seconds;
}

Json json_of(Uses const& uses, std::uint32_t) {
    Json strategies = Json::object();
    for (auto const& [name, use] : uses)
        strategies[name] = {{"calls", use.calls}, {"why", use.why}};
    return strategies;
}

Json json_of(Latest const& latest, std::uint32_t) {
    if (latest.rank < 0) return nullptr;
    return {{"rank", latest.rank}, {"seconds", latest.waited_s}};
}

Json selection_json(SelectionReport const& selection) {
    Json tried = Json::array();
    for (auto const& one : selection.tried)
        tried.push_back({{"candidate", one.candidate},
                         {"calls", one.calls},
                         {"remembered", one.remembered},
                         {"bytes_per_second", one.bytes_per_s}});
    Json reopened = Json::array();
    for (auto const& one : selection.reopened)
        reopened.push_back({{"after_call", one.call}, {"why", one.why}});
    return {
        {"calls", selection.calls},       {"calls_done", selection.calls_done},
        {"tried", std::move(tried)},      {"untried", selection.untried},
        {"winner", selection.winner},     {"why", selection.why},
        {"seconds", selection.seconds},   {"examination_seconds", selection.examination_seconds},
        {"reopened", std::move(reopened)}};
}

Json json_of(Selections const& selections, std::uint32_t) {
    Json all = Json::array();
    for (auto const& selection : selections) all.push_back(selection_json(selection));
    return all;
}

Json json_of(Slowdown const& slower, std::uint32_t) {
    if (slower.runs == 0) return nullptr;
    return {{"said", describe(slower)},        {"runs", slower.runs},
            {"seconds", slower.seconds},       {"median_seconds", slower.median_s},
            {"upper_seconds", slower.upper_s}, {"storage_share", slower.share_of_storage}};
}

Json json_of(GateReport const& gate, std::uint32_t ranks) {
    return {{"accesses", gate.accesses},
            {"waits", gate.waits},
            {"seconds", spent_json(gate.waited, ranks)},
            {"locality", gate.locality}};
}

// Enough of a clock's digits.
double rounded(double seconds, double digits) { return std::round(seconds * digits) / digits; }

template <class AnyPhase>
Json calls_json(CallsInTime const& calls) {
    Json phases = Json::array();
    for (auto const& lap : calls.laps.get())
        phases.push_back({phase_names<AnyPhase>[lap.phase], rounded(lap.seconds, 1e9)});
    return {{"at", rounded(calls.begin_s, 1e6)},
            {"seconds", rounded(calls.end_s - calls.begin_s, 1e9)},
            {"calls", calls.count},
            {"bytes", calls.bytes},
            {"phases", std::move(phases)}};
}

Json access_json(AccessesInTime const& accesses) {
    return {{"at", rounded(accesses.begin_s, 1e6)},
            {"seconds", rounded(accesses.end_s - accesses.begin_s, 1e9)},
            {"lists", accesses.count},
            {"bytes", accesses.bytes},
            {"begin", accesses.touched.begin},
            {"end", accesses.touched.end}};
}

template <class Entry>
Json tracks_json(Timeline<Entry> const& timeline, Json (*entry_json)(Entry const&)) {
    Json tracks = Json::array();
    for (auto const& track : timeline.tracks) {
        Json entries = Json::array();
        for (auto const& entry : track.entries) entries.push_back(entry_json(entry));
        tracks.push_back({{"rank", track.rank}, {"entries", std::move(entries)}});
    }
    return tracks;
}

template <class AnyPhase>
Json json_of(CallTimeline<AnyPhase> const& timeline, std::uint32_t) {
    return tracks_json<CallsInTime>(timeline, calls_json<AnyPhase>);
}

Json json_of(AccessTimeline const& timeline, std::uint32_t) {
    return tracks_json(timeline, access_json);
}

Json calls_json(Recording::Calls const& calls) {
    static constexpr std::array kinds{"write", "read", "sync"};
    return {kinds.at(static_cast<std::size_t>(calls.kind)),
            calls.view,
            calls.origin,
            calls.first,
            calls.bytes,
            calls.count,
            calls.origin_step,
            calls.first_step};
}

Json track_json(Recording::Track const& track) {
    Json views = Json::array();
    for (auto const& view : track.views)
        views.push_back({{"extent", view.extent}, {"tile", Json::parse(view.shape)}});
    Json calls = Json::array();
    for (auto const& some : track.calls) calls.push_back(calls_json(some));
    return {{"rank", track.rank},
            {"views", std::move(views)},
            {"calls", std::move(calls)},
            {"left_out", track.left_out}};
}

Json json_of(Recording const& recording, std::uint32_t) {
    if (recording.by_rank.empty()) return nullptr;
    Json ranks = Json::array();
    for (auto const& track : recording.by_rank) ranks.push_back(track_json(track));
    Json hints = Json::object();
    for (auto const& [key, value] : recording.hints) hints[key] = value;
    return {{"access", recording.access}, {"hints", std::move(hints)}, {"ranks", std::move(ranks)}};
}

Json json_of(ProgramReport const& program, std::uint32_t) {
    auto const count = [](int sum, std::uint64_t word) { return sum + std::popcount(word); };
    return {{"id", program.id},
            {"name", program.name},
            {"mpi", program.mpi},
            {"ranks", program.ranks},
            {"cores", std::accumulate(program.cores.begin(), program.cores.end(), 0, count)},
            {"began", rounded(program.began, 1e6)},
            {"seconds", program.seconds},
            {"core_wait_seconds", program.core_wait_s}};
}

#define UNISONO_TO_JSON(type, member, initial, key, ...) \
    json[Json::json_pointer("/" key)] = json_of(report.member, ranks);

Json json_of(DirectionReport const& report, std::uint32_t ranks) {
    Json json;
    UNISONO_DIRECTION_FIELDS(UNISONO_TO_JSON)
    return json;
}

// A file name is bytes; JSON is UTF-8.
std::string in_one_line(Json const& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(FileReport const& report) {
    Json json{{"format", report_format}, {"unisono_version", UNISONO_VERSION}};
    auto const ranks = report.ranks;
    UNISONO_FILE_FIELDS(UNISONO_TO_JSON)
    return in_one_line(json);
}

#undef UNISONO_TO_JSON

#define UNISONO_DESCRIBE(type, member, initial, key, unit, merge, label, meaning) \
    {{"key", key}, {"unit", #unit}, {"merge", #merge}, {"label", label}, {"meaning", meaning}},
#define UNISONO_DESCRIBE_PHASE(name, meaning) {{"name", #name}, {"meaning", meaning}},

std::string fields_json() {
    return in_one_line({{"format", report_format},
                        {"file", {UNISONO_FILE_FIELDS(UNISONO_DESCRIBE)}},
                        {"direction", {UNISONO_DIRECTION_FIELDS(UNISONO_DESCRIBE)}},
                        {"phases",
                         {{"file", {UNISONO_FILE_PHASES(UNISONO_DESCRIBE_PHASE)}},
                          {"direction", {UNISONO_CALL_PHASES(UNISONO_DESCRIBE_PHASE)}}}}});
}

#undef UNISONO_DESCRIBE
#undef UNISONO_DESCRIBE_PHASE

}  // namespace unisono
