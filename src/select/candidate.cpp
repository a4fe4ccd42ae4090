#include "select/candidate.hpp"

#include <array>

#include "strategies/aggregators.hpp"
#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

using Variation = Candidate::Variation;

constexpr std::array<std::string_view, 4> variation_names{"", "+every_rank", "+large_buffers",
                                                          "+intra_node_aggregation"};
constexpr std::uint64_t large_buffer_bytes = 4 << 20;

// List I/O is one request for each piece: a system call, or a trip to a server. Who takes only one
// rank's or one node's pieces finds hardly any side by side.
double worst_case_seconds(Strategy const& strategy, Facts const& facts) {
    constexpr double local_piece_s = 2e-6;
    auto const remote_piece_s = facts.direction == Direction::read ? 1e-4 : 4e-4;
    if (&strategy != &independent && &strategy != &core_first) return 0;
    auto const pieces_of_a_rank = static_cast<double>(facts.pieces) / facts.topology->ranks();
    return pieces_of_a_rank * (facts.local_storage ? local_piece_s : remote_piece_s);
}

// OnlineTuner with four ranks, and with eight on a pocket cluster; what is set up is the same
// whatever the size of the call.
double setup_seconds(Strategy const& strategy, Facts const& facts) {
    constexpr double native_setup_s = 2e-3;
    if (&strategy == &native) return native_setup_s;
    if (&strategy == &independent) return any_setup_s;
    return facts.topology->nodes() == 1 ? windows_setup_s : windows_between_nodes_setup_s;
}

// Only what the user has left open, and what makes a difference there. On a node's own file system
// every rank aggregates already, and buffers of all sizes measure alike (docs/lab/tried.md).
std::vector<Variation> variations(Facts const& facts, Options const& options) {
    std::vector<Variation> found;
    auto const& topology = *facts.topology;
    auto const aggregators = choose_aggregators_of_call(facts, options).size();
    if (!facts.local_storage) {
        auto const free = options.cb_nodes == 0 && options.cb_config_list.empty();
        if (free && aggregators < topology.ranks()) found.push_back(Variation::every_rank);
        if (options.cb_buffer_size == 0 &&
            facts.bytes / aggregators > 2 * window_bytes(facts, options))
            found.push_back(Variation::large_buffers);
    }
    auto const nodes_merge = topology.nodes() > 1 && topology.ranks() > topology.nodes();
    if (nodes_merge && options.intra_node_aggregation == Switch::automatic)
        found.push_back(Variation::intra_node_aggregation);
    return found;
}

}  // namespace

Candidate with_cost_bounds(Candidate candidate, Facts const& facts) {
    candidate.worst_case_s = worst_case_seconds(*candidate.strategy, facts);
    candidate.setup_s = setup_seconds(*candidate.strategy, facts);
    return candidate;
}

bool may_be_tried_unasked(Candidate const& candidate) {
    return candidate.strategy != &native && candidate.strategy != &resonant;
}

std::string name_of(Candidate const& candidate) {
    auto const variation = static_cast<std::size_t>(candidate.variation);
    return std::string{candidate.strategy->name} + std::string{variation_names.at(variation)};
}

Options with_setting(Options const& options, Variation variation) {
    auto changed = options;
    switch (variation) {
        case Variation::none:
            break;
        case Variation::every_rank:
            changed.cb_config_list = "*:*";
            break;
        case Variation::large_buffers:
            changed.cb_buffer_size = large_buffer_bytes;
            break;
        case Variation::intra_node_aggregation:
            changed.intra_node_aggregation = Switch::enable;
            break;
    }
    return changed;
}

std::vector<Candidate> paper_candidates(Facts const& facts) {
    std::vector<Candidate> candidates{{&native}};
    for (auto const* strategy : {&core_first, &disk_first})
        if (strategy->unfit(facts).empty()) candidates.push_back({strategy});
    return candidates;
}

std::vector<Candidate> all_candidates(Facts const& facts, Options const& options,
                                      Strategy const* first, std::string_view native_fault) {
    std::vector<Candidate> candidates{with_cost_bounds({first}, facts)};
    for (auto const* strategy : all_strategies()) {
        // Other ranks may not have it.
        if (is_plugin(*strategy)) continue;
        if (strategy == first || !strategy->unfit(facts).empty()) continue;
        if (strategy == &native && !native_fault.empty()) continue;
        if (strategy->worth_measuring != nullptr && !strategy->worth_measuring(facts)) continue;
        candidates.push_back(with_cost_bounds({strategy}, facts));
    }
    if (two_phase.unfit(facts).empty())
        for (auto const variation : variations(facts, options))
            candidates.push_back(with_cost_bounds({&two_phase, variation}, facts));
    return candidates;
}

}  // namespace unisono
