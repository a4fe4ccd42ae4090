#include "simulated/shrink.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "unisono/shape.hpp"

namespace unisono::simulated {
namespace {

/// Makes a smaller scenario; nothing where that is the same one.
using Reduction = std::function<bool(Scenario&)>;

template <class Value>
bool set(Value& value, std::type_identity_t<Value> const& simple) {
    if (value == simple) return false;
    value = simple;
    return true;
}

template <class List>
bool drop(List& list, std::size_t index) {
    if (index >= list.size()) return false;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
    return true;
}

bool drop_call(Scenario& scenario, std::size_t call) {
    if (scenario.calls.size() == 1) return false;
    scenario.calls.erase(scenario.calls.begin() + static_cast<std::ptrdiff_t>(call));
    return true;
}

template <class List>
void renumber(List& list, std::uint32_t gone) {
    std::erase_if(list, [&](auto const& about) { return about.rank == gone; });
    for (auto& about : list)
        if (about.rank > gone) --about.rank;
}

bool drop_rank(Scenario& scenario, std::uint32_t rank) {
    if (scenario.ranks() == 1) return false;
    drop(scenario.node_labels, rank);
    drop(scenario.on_device, rank);
    for (auto& call : scenario.calls) drop(call.requests, rank);
    auto& conditions = scenario.conditions;
    renumber(conditions.stalls, rank);
    renumber(conditions.faults, rank);
    if (conditions.slow_rank && *conditions.slow_rank >= scenario.ranks())
        conditions.slow_rank.reset();
    return true;
}

bool set_positions(Request& request, Positions positions) {
    if (request.positions == positions) return false;
    request.positions = positions;
    return true;
}

bool make_dense_view(Tiling& tiling) {
    if (tiling.dense()) return false;
    tiling = {make_dense(1), 0, 1};
    return true;
}

void add_reductions_of(std::vector<Reduction>& all, std::size_t call, std::uint32_t rank) {
    auto const on_request = [&](auto reduce) {
        all.emplace_back(
            [=](Scenario& scenario) { return reduce(scenario.calls[call].requests[rank]); });
    };
    on_request([](Request& request) { return set_positions(request, {}); });
    on_request([](Request& request) {
        auto const [begin, end] = request.positions;
        return set_positions(request, {begin, begin + (end - begin) / 2});
    });
    on_request([](Request& request) {
        auto const [begin, end] = request.positions;
        return begin < end && set_positions(request, {begin, end - 1});
    });
    on_request([](Request& request) {
        return set_positions(request, {0, request.positions.bytes()});
    });
    on_request([](Request& request) { return make_dense_view(request.view); });
    on_request([](Request& request) { return make_dense_view(request.memory); });
    on_request([](Request& request) { return set(request.view.origin, 0); });
}

void add_reductions_of(std::vector<Reduction>& all, std::size_t call) {
    auto const on_options = [&](auto reduce) {
        all.emplace_back([=](Scenario& scenario) { return reduce(scenario.calls[call].options); });
    };
    all.emplace_back([=](Scenario& scenario) { return drop_call(scenario, call); });
    on_options([](Options& options) { return set(options.prefetch_then_read, false); });
    on_options([](Options& options) { return set(options.flush_at_close, false); });
    on_options([](Options& options) { return set(options.cb_nodes, 1); });
    on_options(
        [](Options& options) { return set(options.intra_node_aggregation, Switch::disable); });
    on_options([](Options& options) { return set(options.strategy, "two_phase"); });
    all.emplace_back(
        [=](Scenario& scenario) { return set(scenario.calls[call].drain_after, false); });
}

void add_reductions_of_conditions(std::vector<Reduction>& all) {
    auto const on_conditions = [&](auto reduce) {
        all.emplace_back([=](Scenario& scenario) { return reduce(scenario.conditions); });
    };
    on_conditions([](Conditions& conditions) { return drop(conditions.stalls, 0); });
    on_conditions([](Conditions& conditions) { return drop(conditions.faults, 0); });
    on_conditions([](Conditions& conditions) { return set(conditions.pause_ticks_max, 0); });
    on_conditions([](Conditions& conditions) { return set(conditions.delay_ticks_max, 0); });
    on_conditions([](Conditions& conditions) { return set(conditions.slow_rank, std::nullopt); });
    on_conditions([](Conditions& conditions) { return set(conditions.synchronous, false); });
    on_conditions([](Conditions& conditions) { return set(conditions.overlaps, false); });
    on_conditions([](Conditions& conditions) {
        return set(conditions.node_lacks_memory,
                   std::vector<bool>(conditions.node_lacks_memory.size()));
    });
}

// What makes most smaller comes first.
std::vector<Reduction> reductions_of(Scenario const& scenario) {
    std::vector<Reduction> all;
    for (std::size_t call = 0; call < scenario.calls.size(); ++call)
        all.emplace_back([=](Scenario& smaller) { return drop_call(smaller, call); });
    for (std::uint32_t rank = 0; rank < scenario.ranks(); ++rank)
        all.emplace_back([=](Scenario& smaller) { return drop_rank(smaller, rank); });
    add_reductions_of_conditions(all);
    all.emplace_back([](Scenario& smaller) {
        return set(smaller.node_labels, std::vector<std::uint32_t>(smaller.ranks()));
    });
    all.emplace_back([](Scenario& smaller) {
        return set(smaller.on_device, std::vector<bool>(smaller.ranks()));
    });
    all.emplace_back([](Scenario& smaller) {
        auto const known = smaller.layout.known();
        smaller.layout = {};
        return known;
    });
    all.emplace_back([](Scenario& smaller) { return set(smaller.file_bytes, 0); });
    for (std::size_t call = 0; call < scenario.calls.size(); ++call) {
        add_reductions_of(all, call);
        for (std::uint32_t rank = 0; rank < scenario.ranks(); ++rank)
            add_reductions_of(all, call, rank);
    }
    return all;
}

// The first of a few seeds with which it goes wrong in the same way.
std::optional<Judgement> still_fails(Scenario& scenario, Judgement const& before,
                                     std::size_t& runs) {
    constexpr std::uint64_t seeds = 4;
    for (std::uint64_t more = 0; more < seeds; ++more, ++scenario.conditions.seed) {
        ++runs;
        auto judgement = run(scenario);
        if (judgement.wrong() && judgement.deadlocked() == before.deadlocked()) return judgement;
    }
    return {};
}

}  // namespace

Shrunk shrink(Scenario const& failing, std::size_t runs_max) {
    Shrunk smallest{failing, run(failing), 1};
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (auto const& reduce : reductions_of(smallest.scenario)) {
            if (smallest.runs >= runs_max) return smallest;
            auto candidate = smallest.scenario;
            if (!reduce(candidate)) continue;
            auto judgement = still_fails(candidate, smallest.judgement, smallest.runs);
            if (!judgement) continue;
            smallest.scenario = std::move(candidate);
            smallest.judgement = std::move(*judgement);
            smaller = true;
            break;
        }
    }
    return smallest;
}

}  // namespace unisono::simulated
