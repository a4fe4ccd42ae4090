#include "select/tune_file.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace unisono {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t records_most = 1000;
constexpr std::size_t candidates_most = 32;
// Of a class: more would be no 64-bit number.
constexpr std::uint64_t width_most = 64;

Json score_json(Score const& score) {
    return {{"calls", score.calls},
            {"bytes_per_second", std::exp(score.mean)},
            {"deviation", std::sqrt(score.deviation_squared())}};
}

std::optional<Score> score_from(Json const& json) {
    Score score{.calls = json.at("calls").get<std::uint32_t>()};
    auto const speed = json.at("bytes_per_second").get<double>();
    auto const deviation = json.at("deviation").get<double>();
    if (score.calls == 0 || !(speed > 0) || !std::isfinite(speed) || !(deviation >= 0)) return {};
    score.mean = std::log(speed);
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
        return {std::move(file), {}};
    } catch (Json::exception const&) {  // something is missing, or of another type
        return {{}, "damaged"};
    }
}

std::string to_json(TuneFile const& file) {
    Json records = Json::array();
    for (auto const& record : file.records) records.push_back(record_json(record));
    Json const json{{"unisono_tune", TuneFile::version},
                    {"frozen", file.frozen},
                    {"records", std::move(records)}};
    // Places have names of mounts in them: bytes, not always UTF-8.
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
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

}  // namespace unisono
