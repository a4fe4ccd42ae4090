#include "orchestra/schedule.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "orchestra/program_id.hpp"

namespace unisono::orchestra {

namespace {

constexpr Time longest = lease_max;  // slices, too
constexpr std::size_t objects_max = 256;

bool is_valid(Schedule const& schedule) {
    if (schedule.lease <= 0 || schedule.lease > longest) return false;
    if (schedule.objects.size() > objects_max) return false;
    std::set<std::string> named;
    bool pool = false;
    for (auto const& object : schedule.objects) {
        if (object.slice < millisecond || object.slice > longest) return false;
        if (object.patience < 0 || object.patience > longest) return false;
        if (object.programs.empty() && std::exchange(pool, true)) return false;
        for (auto const& program : object.programs)
            if (program.empty() || program.size() > program_id_length_max ||
                !named.insert(program).second)
                return false;
    }
    return true;
}

Time read_ms(nlohmann::json const& json, char const* name) {
    double const ms = json.at(name);
    // What does not fit becomes what is refused.
    return ms >= 0 && ms <= to_ms(longest) ? from_ms(ms) : -1;
}

}  // namespace

std::string show(Schedule const& schedule) {
    auto objects = nlohmann::ordered_json::array();
    for (auto const& object : schedule.objects)
        objects.push_back({{"programs", object.programs},
                           {"slice_ms", to_ms(object.slice)},
                           {"patience_ms", to_ms(object.patience)}});
    nlohmann::ordered_json const json = {{"epoch", schedule.epoch},
                                         {"lease_ms", to_ms(schedule.lease)},
                                         {"work_conserving", schedule.work_conserving},
                                         {"objects", objects}};
    return json.dump();
}

std::optional<Schedule> parse_schedule(std::string_view text) {
    auto const json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return {};
    Schedule schedule;
    try {
        auto const& epoch = json.at("epoch");
        if (!epoch.is_number_unsigned()) return {};
        schedule.epoch = epoch;
        schedule.lease = read_ms(json, "lease_ms");
        schedule.work_conserving = json.at("work_conserving");
        for (auto const& object : json.at("objects"))
            schedule.objects.push_back({object.at("programs").get<std::vector<std::string>>(),
                                        read_ms(object, "slice_ms"),
                                        read_ms(object, "patience_ms")});
    } catch (nlohmann::json::exception const&) {
        return {};
    }
    if (!is_valid(schedule)) return {};
    return schedule;
}

Schedule acceptable(Schedule schedule) {
    if (!is_valid(schedule)) schedule.objects.clear();
    return schedule;
}

}  // namespace unisono::orchestra
