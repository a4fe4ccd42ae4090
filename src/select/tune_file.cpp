#include "select/tune_file.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace unisono {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t lessons_most = 1000;
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

Json lesson_json(Lesson const& lesson) {
    auto const& calls = lesson.calls;
    Json candidates = Json::object();
    for (auto const& [name, score] : lesson.scores) candidates[name] = score_json(score);
    return {{"machine", lesson.where.machine},
            {"software", lesson.where.software},
            {"place", lesson.where.place},
            {"direction", calls.direction == Direction::read ? "read" : "write"},
            {"ranks", calls.ranks},
            {"nodes", calls.nodes},
            {"bytes_class", calls.bytes},
            {"pieces_class", calls.requests},
            {"gap_class", calls.relative_offset},
            {"frozen", lesson.frozen},
            {"updated", lesson.updated_s},
            {"candidates", std::move(candidates)}};
}

std::optional<Lesson> lesson_from(Json const& json) {
    auto const direction = json.at("direction").get<std::string>();
    Lesson lesson{.where = {json.at("machine"), json.at("software"), json.at("place")},
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
                       lesson.calls.requests <= width_most && lesson.calls.bytes <= width_most &&
                       candidates.size() <= candidates_most;
    if (!sound) return {};
    for (auto const& [name, score] : candidates.items())
        if (auto const known = score_from(score)) lesson.scores[name] = *known;
    return lesson;
}

bool about_the_same(Lesson const& a, Lesson const& b) {
    auto calls = a.calls;
    calls.place = b.calls.place;
    return a.where == b.where && calls == b.calls;
}

}  // namespace

ParsedTuneFile parse_tune_file(std::string_view text) {
    auto const json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    auto const* const version_key = "unisono_tune";
    if (!json.is_object() || !json.contains(version_key) ||
        !json.at(version_key).is_number_integer())
        return {{}, "no tune file of Unisono"};
    if (auto const version = json.at(version_key).get<std::int64_t>(); version > TuneFile::version)
        return {{}, "of a newer version (" + std::to_string(version) + ")"};
    try {
        TuneFile file{.frozen = json.at("frozen")};
        for (auto const& entry : json.at("lessons"))
            if (auto lesson = lesson_from(entry)) file.lessons.push_back(std::move(*lesson));
        return {std::move(file), {}};
    } catch (Json::exception const&) {  // something is missing, or of another type
        return {{}, "damaged"};
    }
}

std::string to_json(TuneFile const& file) {
    Json lessons = Json::array();
    for (auto const& lesson : file.lessons) lessons.push_back(lesson_json(lesson));
    Json const json{{"unisono_tune", TuneFile::version},
                    {"frozen", file.frozen},
                    {"lessons", std::move(lessons)}};
    // Places have names of mounts in them: bytes, not always UTF-8.
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void take_in(TuneFile& file, std::vector<Lesson> const& news, std::int64_t now_s) {
    for (auto const& lesson : news) {
        auto const same = [&](Lesson const& other) { return about_the_same(other, lesson); };
        auto known = std::ranges::find_if(file.lessons, same);
        if (known == file.lessons.end())
            known = file.lessons.insert(known, {.where = lesson.where, .calls = lesson.calls});
        if (known->frozen) continue;
        known->updated_s = now_s;
        if (lesson.replaces) known->scores.clear();
        for (auto const& [name, score] : lesson.scores) known->scores[name].take_in(score);
    }
    if (file.lessons.size() <= lessons_most) return;
    std::ranges::stable_sort(file.lessons, std::ranges::greater{}, [](Lesson const& lesson) {
        return std::pair{lesson.frozen, lesson.updated_s};
    });
    file.lessons.resize(lessons_most);
}

}  // namespace unisono
