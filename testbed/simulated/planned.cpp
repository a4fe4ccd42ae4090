#include "simulated/planned.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

#include "access/copy.hpp"
#include "execute/staged/round_schedule.hpp"
#include "execute/staged/staged_call.hpp"
#include "select/rule.hpp"
#include "simulated/patterns.hpp"
#include "strategies/scene.hpp"
#include "support/clock.hpp"

namespace unisono::simulated {
namespace {

/// File bytes that lie in one window of one aggregator.
struct Part {
    Extent file;
    std::size_t window = 0;  // numbers all windows of all rounds
    std::uint32_t aggregator = 0;
};

Scene scene_of(ScaleCase const& scale) {
    Scene scene{.topology = topology_of(scale), .layout = layout_of(scale.network)};
    for (auto const& calls : calls_of(scale.pattern, scale.ranks, scale.bytes_per_rank))
        scene.requests.push_back(calls.first);
    scene.options.strategy = scale.strategy;
    scene.options.cb_buffer_size = scale.cb_buffer_size;
    scene.options.cb_nodes = scale.cb_nodes;
    scene.options.intra_node_aggregation = scale.intra_node_aggregation;
    return scene;
}

/// Who has which part of the file in which window, ascending.
std::vector<Part> parts_of(RoundSchedule& schedule) {
    std::vector<Part> parts;
    while (schedule.any_left()) {
        auto const round = schedule.next();
        for (std::uint32_t i = 0; i < round.parts.size(); ++i)
            for (auto const& part : round.parts[i])
                parts.push_back({part.file, round.number * round.parts.size() + i, i});
    }
    std::ranges::sort(parts, {}, [](Part const& part) { return part.file.begin; });
    return parts;
}

/// Counts what goes to which window.
class Counting {
public:
    Counting(Plan const& plan, std::vector<Part> const& parts, Topology const& topology)
        : plan_{plan}, parts_{parts}, topology_{topology}, received_(topology.ranks()) {}

    /// All that some ranks of a node ask for, of which one sends it.
    void add(std::span<Realm const> requests, std::uint32_t node) {
        std::set<std::pair<std::size_t, std::uint32_t>> windows;
        for (auto const& request : requests)
            walk(request.tiling, request.positions, [&](std::int64_t offset, std::uint64_t length) {
                auto const begin = static_cast<std::uint64_t>(offset);
                for_parts({begin, begin + length}, [&](Part const& part, std::uint64_t in_it) {
                    if (topology_.node_of[plan_.aggregators[part.aggregator]] == node) return;
                    sent_.bytes += in_it;
                    windows.emplace(part.window, part.aggregator);
                });
            });
        sent_.messages += windows.size();
        sent_.most_from_one = std::max<std::uint64_t>(sent_.most_from_one, windows.size());
        for (auto const& [window, aggregator] : windows) ++received_[plan_.aggregators[aggregator]];
    }

    [[nodiscard]] SentBetweenNodes sent() const {
        auto all = sent_;
        all.fan_in = std::ranges::max(received_);
        return all;
    }

private:
    template <class Use>
    void for_parts(Extent range, Use&& use) const {
        auto part = std::ranges::partition_point(
            parts_, [&](Part const& one) { return one.file.end <= range.begin; });
        for (; part != parts_.end() && part->file.begin < range.end; ++part)
            use(*part, intersect(part->file, range).bytes());
    }

    Plan const& plan_;
    std::vector<Part> const& parts_;
    Topology const& topology_;
    SentBetweenNodes sent_;
    std::vector<std::uint64_t> received_;  // by rank
};

SentBetweenNodes count(Scene const& scene, Plan const& plan, std::vector<Part> const& parts,
                       bool nodes_send) {
    Counting counting{plan, parts, scene.topology};
    for (std::uint32_t node = 0; node < scene.topology.nodes(); ++node) {
        auto const& ranks = scene.topology.ranks_of[node];
        auto const requests = std::span{scene.requests}.subspan(ranks.front(), ranks.size());
        if (nodes_send)
            counting.add(requests, node);
        else
            for (auto const& request : requests) counting.add({&request, 1}, node);
    }
    return counting.sent();
}

}  // namespace

PlannedWrite plan_write(ScaleCase const& scale, std::function<void()> const& on_planned) {
    if (scale.strategy == "romio" || scale.strategy == "pieces")
        throw std::invalid_argument{scale.strategy + " has no plan"};
    auto const scene = scene_of(scale);
    SceneFacts const known{scene};
    std::vector<Extent> const wanted{known.facts.touched};
    if (scale.on_begin) scale.on_begin();
    auto const begun_s = steady_clock_s();
    auto const selection = choose(known.facts, scene.options);
    auto plan = selection.strategy->plan(known.facts, scene.options);
    plan.intra_node_aggregation = scene.options.intra_node_aggregation;
    RoundSchedule schedule{plan.realms, plan.window_bytes, wanted};
    PlannedWrite planned{.strategy = selection.strategy->name,
                         .aggregators = plan.aggregators.size(),
                         .rounds = schedule.rounds(),
                         .planning_s = steady_clock_s() - begun_s};
    if (on_planned) on_planned();
    if (plan.way != Plan::Way::staged || plan.within_nodes) return planned;  // nothing is sent
    planned.reduced_bytes = schedule.rounds() * schedule.aggregators() * sizeof(std::uint64_t);
    auto const parts = parts_of(schedule);
    auto const by_ranks = count(scene, plan, parts, /*nodes_send=*/false);
    auto const mean_bytes = by_ranks.messages == 0 ? 0 : by_ranks.bytes / by_ranks.messages;
    planned.nodes_send = nodes_send(plan, known.facts, mean_bytes);
    planned.sent = planned.nodes_send ? count(scene, plan, parts, true) : by_ranks;
    return planned;
}

}  // namespace unisono::simulated
