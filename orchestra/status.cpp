#include "orchestra/status.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orchestra/fairness.hpp"

namespace unisono::orchestra {

namespace {

double sum_of(std::vector<ServerPart> const& servers, double ServerPart::*value) {
    double sum = 0;
    for (auto const& server : servers) sum += server.*value;
    return sum;
}

// What `part` asked for since `before`, if alone; 0 if that is not known.
double alone_ms(ServerPart const& before, ServerPart const& part) {
    return part.dedicated_samples > 0 ? (part.requests - before.requests) * part.dedicated_ms : 0;
}

double slowdown_of(ProgramReport const& before, ProgramReport const& after, double elapsed_ms) {
    double sum = 0;
    double servers = 0;
    for (std::size_t i = 0; i < after.servers.size(); ++i) {
        auto const alone = alone_ms(before.servers[i], after.servers[i]);
        if (alone <= 0) continue;
        sum += elapsed_ms / alone;
        ++servers;
    }
    return servers > 0 ? std::max(1.0, sum / servers) : 0;
}

void set_fairness(Progress& progress) {
    std::vector<double> shares;
    for (auto const& program : progress.programs)
        if (program.slowdown > 0) shares.push_back(1 / program.slowdown);
    progress.fairness_is_of_slowdowns = shares.size() == progress.programs.size();
    if (!progress.fairness_is_of_slowdowns) {
        shares.clear();
        for (auto const& program : progress.programs) shares.push_back(program.mb_s);
    }
    progress.fairness = jain_index(shares);
}

}  // namespace

Progress progress_between(Report const& before, Report const& after) {
    auto const elapsed_ms = after.now_ms - before.now_ms;
    Progress progress{.efficiency = std::vector<double>(after.gap_sectors.size(), 0)};
    if (elapsed_ms <= 0) return progress;
    for (auto const& program : after.programs) {
        auto const* const found = before.find(program.id);
        auto old = found != nullptr ? *found : ProgramReport{};
        old.servers.resize(program.servers.size());  // new ones did nothing before
        auto const bytes =
            sum_of(program.servers, &ServerPart::bytes) - sum_of(old.servers, &ServerPart::bytes);
        if (bytes <= 0) continue;
        progress.programs.push_back(
            {program.id, bytes / elapsed_ms / 1e3, slowdown_of(old, program, elapsed_ms)});
        progress.mb_s += progress.programs.back().mb_s;
        auto const servers = std::min(program.servers.size(), progress.efficiency.size());
        for (std::size_t i = 0; i < servers; ++i)
            progress.efficiency[i] += alone_ms(old.servers[i], program.servers[i]) / elapsed_ms;
    }
    for (double& share : progress.efficiency) share = std::min(share, 1.0);
    set_fairness(progress);
    return progress;
}

std::string show(Status const& status, Decision const& decision, Report const& report,
                 Progress const& progress) {
    auto objects = nlohmann::ordered_json::array();
    for (auto const& object : decision.objects)
        objects.push_back({{"programs", object.programs}, {"slice_ms", to_ms(object.slice)}});
    auto programs = nlohmann::ordered_json::array();
    for (auto const& verdict : decision.eligibilities) {
        auto const found =
            std::ranges::find(progress.programs, verdict.program, &ProgramProgress::id);
        bool const moved = found != progress.programs.end();
        auto const* const its = report.find(verdict.program);
        programs.push_back({{"id", verdict.program},
                            {"eligible", verdict.eligible},
                            {"why", verdict.why},
                            {"mb_s", moved ? found->mb_s : 0},
                            {"slowdown", moved ? found->slowdown : 0},
                            {"held", its == nullptr ? 0 : its->held},
                            {"under_way", its == nullptr ? 0 : its->under_way}});
    }
    auto turns = nlohmann::ordered_json::array();
    for (auto const& turn : status.turns)
        turns.push_back({{"begin_ms", to_ms(turn.begin)},
                         {"end_ms", to_ms(turn.end)},
                         {"object", turn.object}});
    nlohmann::ordered_json const json = {
        {"pid", status.pid},
        {"gate", status.gate},
        {"locality", status.locality},
        {"nodes", status.nodes},
        {"turns", turns},
        {"policy", status.policy},
        {"mountpoint", status.mountpoint},
        {"lease_ms", status.lease_ms},
        {"window_ms", to_ms(decision.window)},
        {"objects", objects},
        {"programs", programs},
        {"mb_s", progress.mb_s},
        {"fairness", progress.fairness},
        {"fairness_of", progress.fairness_is_of_slowdowns ? "slowdowns" : "throughputs"},
        {"efficiency", progress.efficiency}};
    // Names of folders may be any bytes.
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace unisono::orchestra
