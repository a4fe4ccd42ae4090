#include "select/tune_file.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace unisono {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t records_most = 1000;
constexpr std::size_t histories_most = 100;
constexpr std::size_t candidates_most = 32;
// Of a class: more would be no 64-bit number.
constexpr std::uint64_t width_most = 64;
// Of a score: as many as Score::take_in counts.
constexpr std::int64_t calls_most = 1'000'000;

Json score_json(Score const& score) {
    return {{"calls", score.calls},
            {"bytes_per_second", std::exp(score.mean)},
            {"deviation", std::sqrt(score.deviation_squared())}};
}

std::optional<Score> score_from(Json const& json) {
    auto const calls = json.at("calls").get<std::int64_t>();
    auto const speed = json.at("bytes_per_second").get<double>();
    auto const deviation = json.at("deviation").get<double>();
    if (calls < 1 || !(speed > 0) || !std::isfinite(speed) || !(deviation >= 0)) return {};
    Score score{.calls = static_cast<std::uint32_t>(std::min(calls, calls_most)),
                .mean = std::log(speed)};
    score.squares = deviation * deviation * (score.calls - 1);
    if (!std::isfinite(score.squares)) return {};
    return score;
}

Json record_json(TuningRecord const& record) {
    auto const& calls = record.calls;
    Json candidates = Json::object();
    for (auto const& [name, score] : record.scores) candidates[name] = score_json(score);
    return {{"machine", record.where.machine},
            {"software", record.where.software},
            {"storage", record.where.storage_key},
            {"direction", calls.direction == Direction::read ? "read" : "write"},
            {"ranks", calls.ranks},
            {"nodes", calls.nodes},
            {"bytes_class", calls.bytes},
            {"pieces_class", calls.requests},
            {"gap_class", calls.relative_offset},
            {"frozen", record.frozen},
            {"updated", record.updated_s},
            {"candidates", std::move(candidates)}};
}

std::optional<TuningRecord> record_from(Json const& json, char const* storage_name) {
    auto const direction = json.at("direction").get<std::string>();
    TuningRecord record{
        .where = {json.at("machine"), json.at("software"), json.at(storage_name)},
        .calls = {.direction = direction == "read" ? Direction::read : Direction::write,
                  .ranks = json.at("ranks"),
                  .nodes = json.at("nodes"),
                  .requests = json.at("pieces_class"),
                  .bytes = json.at("bytes_class"),
                  .relative_offset = json.at("gap_class")},
        .frozen = json.at("frozen"),
        .updated_s = json.at("updated")};
    auto const& candidates = json.at("candidates");
    auto const sound = (direction == "read" || direction == "write") &&
                       record.calls.requests <= width_most && record.calls.bytes <= width_most &&
                       candidates.size() <= candidates_most;
    if (!sound) return {};
    for (auto const& [name, score] : candidates.items())
        if (auto const known = score_from(score)) record.scores[name] = *known;
    return record;
}

Json history_json(FileHistory const& history) {
    auto const& kind = history.kind;
    Json runs = Json::array();
    for (auto const& run : history.runs)
        runs.push_back({{"run", run.id},
                        {"bytes", run.bytes},
                        {"seconds", run.seconds},
                        {"storage_seconds", run.storage_seconds}});
    return {{"program", kind.program},
            {"files", kind.files},
            {"storage", kind.storage},
            {"machine", kind.machine},
            {"ranks", kind.ranks},
            {"nodes", kind.nodes},
            {"written_class", kind.written_class},
            {"read_class", kind.read_class},
            {"updated", history.updated_s},
            {"runs", std::move(runs)}};
}

FileHistory history_from(Json const& json) {
    FileHistory history{.kind = {.program = json.at("program"),
                                 .files = json.at("files"),
                                 .storage = json.at("storage"),
                                 .machine = json.at("machine"),
                                 .ranks = json.at("ranks"),
                                 .nodes = json.at("nodes"),
                                 .written_class = json.at("written_class"),
                                 .read_class = json.at("read_class")},
                        .updated_s = json.at("updated")};
    for (auto const& run : json.at("runs")) {
        PastRun const past{.id = run.at("run"),
                           .bytes = run.at("bytes"),
                           .seconds = run.at("seconds"),
                           .storage_seconds = run.at("storage_seconds")};
        if (past.bytes > 0 && past.seconds > 0 && past.storage_seconds >= 0) history.take_in(past);
    }
    return history;
}

// Nobody has to have one; one that is damaged costs nothing but itself.
std::vector<FileHistory> histories_from(Json const& json) {
    std::vector<FileHistory> histories;
    if (!json.contains("histories")) return histories;
    for (auto const& entry : json.at("histories")) try {
            histories.push_back(history_from(entry));
        } catch (Json::exception const&) {
        }
    return histories;
}

bool about_the_same(TuningRecord const& a, TuningRecord const& b) {
    auto calls = a.calls;
    calls.storage_key = b.calls.storage_key;
    return a.where == b.where && calls == b.calls;
}

}  // namespace

ParsedTuneFile parse_tune_file(std::string_view text) {
    auto const json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    auto const* const version_key = "unisono_tune";
    if (!json.is_object() || !json.contains(version_key) ||
        !json.at(version_key).is_number_integer())
        return {{}, "no tune file of Unisono"};
    auto const version = json.at(version_key).get<std::int64_t>();
    if (version > TuneFile::version)
        return {{}, "of a newer version (" + std::to_string(version) + ")"};
    auto const* const list_name = version == 1 ? "lessons" : "records";
    auto const* const storage_name = version == 1 ? "place" : "storage";
    try {
        TuneFile file{.frozen = json.at("frozen")};
        for (auto const& entry : json.at(list_name))
            if (auto record = record_from(entry, storage_name))
                file.records.push_back(std::move(*record));
        file.histories = histories_from(json);
        return {std::move(file), {}};
    } catch (Json::exception const&) {  // something is missing, or of another type
        return {{}, "damaged"};
    }
}

std::string to_json(TuneFile const& file) {
    Json records = Json::array();
    for (auto const& record : file.records) records.push_back(record_json(record));
    Json histories = Json::array();
    for (auto const& history : file.histories) histories.push_back(history_json(history));
    Json const json{{"unisono_tune", TuneFile::version},
                    {"frozen", file.frozen},
                    {"records", std::move(records)},
                    {"histories", std::move(histories)}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string as_kept(std::string const& text) {
    auto const json = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    return Json::parse(json).get<std::string>();
}

FileKind as_kept(FileKind kind) {
    for (auto* const name : {&kind.program, &kind.files, &kind.storage}) *name = as_kept(*name);
    return kind;
}

void take_in(TuneFile& file, std::vector<TuningRecord> const& unsaved, std::int64_t now_s) {
    for (auto const& record : unsaved) {
        auto const same = [&](TuningRecord const& other) { return about_the_same(other, record); };
        auto known = std::ranges::find_if(file.records, same);
        if (known == file.records.end())
            known = file.records.insert(known, {.where = record.where, .calls = record.calls});
        if (known->frozen) continue;
        known->updated_s = now_s;
        if (record.replaces) known->scores.clear();
        for (auto const& [name, score] : record.scores) known->scores[name].take_in(score);
    }
    if (file.records.size() <= records_most) return;
    std::ranges::stable_sort(file.records, std::ranges::greater{}, [](TuningRecord const& record) {
        return std::pair{record.frozen, record.updated_s};
    });
    file.records.resize(records_most);
}

void take_in(TuneFile& file, std::vector<FileHistory> const& unsaved, std::int64_t now_s) {
    for (auto const& history : unsaved) {
        auto known = std::ranges::find(file.histories, history.kind, &FileHistory::kind);
        if (known == file.histories.end())
            known = file.histories.insert(known, {.kind = history.kind});
        known->updated_s = now_s;
        for (auto const& run : history.runs) known->take_in(run);
    }
    std::ranges::stable_sort(file.histories, std::ranges::greater{}, &FileHistory::updated_s);
    if (file.histories.size() > histories_most) file.histories.resize(histories_most);
}

}  // namespace unisono
