#include "simulated/scenario.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <sstream>

#include "execute/collective_cases.hpp"

namespace unisono::simulated {
namespace {

bool one_in(Case& made, std::uint64_t limit) { return made.below(limit) == 0; }

Options some_options(Case& made) {
    auto options = made.options;
    options.pool_bytes = options.cb_buffer_size * (1 + made.below(8));
    options.flush_at_close = one_in(made, 2);
    if (one_in(made, 2)) options.strategy = "view_based";
    if (one_in(made, 8)) options.strategy = "auto";
    if (one_in(made, 2)) options.select = "measured";
    return options;
}

// Later calls often repeat views with other positions, as programs do.
void add_call(Case& made, Scenario& scenario, Options const& usual) {
    Scenario::Call call{.direction = one_in(made, 3) ? Direction::read : Direction::write,
                        .options = usual,
                        .drain_after = one_in(made, 5)};
    auto const strategies = all_strategies();
    if (one_in(made, 6))
        call.options.strategy = strategies[1 + made.below(strategies.size() - 1)]->name;
    auto const goes_on = !scenario.calls.empty() &&
                         scenario.calls.back().direction == Direction::read && one_in(made, 2);
    if (goes_on) call = scenario.calls.back();
    auto const others = !goes_on && !scenario.calls.empty() && one_in(made, 3);
    for (auto& mine : made.requests) {
        if (goes_on) {
            mine.positions = {mine.positions.end, mine.positions.end + mine.positions.bytes()};
            continue;
        }
        if (others && one_in(made, 2)) mine = made.request(40);
        if (scenario.calls.empty()) continue;
        auto const begin = mine.positions.end / 2;
        mine.positions = {begin, begin + made.below(600)};
    }
    call.requests = made.requests;
    scenario.calls.push_back(std::move(call));
}

Conditions some_conditions(Case& made, std::uint32_t ranks, std::uint32_t nodes) {
    Conditions conditions{.seed = made.below(1U << 31)};
    constexpr std::uint64_t ticks[] = {0, 5, 200};
    conditions.delay_ticks_max = ticks[made.below(3)];
    conditions.pause_ticks_max = ticks[made.below(3)];
    if (one_in(made, 4)) conditions.slow_rank = static_cast<std::uint32_t>(made.below(ranks));
    conditions.synchronous = one_in(made, 2);
    conditions.overlaps = one_in(made, 2);
    conditions.node_lacks_memory.resize(nodes);
    for (std::size_t node = 0; node < nodes; ++node)
        conditions.node_lacks_memory[node] = one_in(made, 8);
    if (one_in(made, 4))
        conditions.stalls.push_back(
            {static_cast<std::uint32_t>(made.below(ranks)), made.below(60), 1 + made.below(10000)});
    if (one_in(made, 4))
        conditions.faults.push_back({static_cast<std::uint32_t>(made.below(ranks)), made.below(8),
                                     one_in(made, 2) ? EIO : ENOSPC});
    return conditions;
}

void show_pieces(std::ostream& out, Request const& request) {
    constexpr std::size_t shown_max = 6;
    std::size_t shown = 0;
    std::uint64_t bytes = 0;
    walk(request.view, request.positions, [&](std::int64_t offset, std::uint64_t length) {
        if (++shown <= shown_max)
            out << " [" << offset << ", " << offset + std::int64_t(length) << ")";
        bytes += length;
    });
    out << (shown > shown_max ? " ..." : "") << "; " << bytes << " bytes in " << shown << " pieces";
}

void show_call(std::ostream& out, Scenario::Call const& call) {
    auto const& options = call.options;
    out << (call.direction == Direction::write ? "write" : "read") << " with " << options.strategy
        << (options.strategy == "auto" ? " (" + options.select + ")" : "") << ", cb_buffer_size "
        << options.cb_buffer_size << ", cb_nodes " << options.cb_nodes
        << (options.prefetch_then_read ? ", prefetch_then_read" : "")
        << (options.intra_node_aggregation == Switch::enable    ? ", nodes aggregate"
            : options.intra_node_aggregation == Switch::disable ? ", nodes do not aggregate"
                                                                : "")
        << (options.strategy == "view_based" ? ", pool " + std::to_string(options.pool_bytes) : "")
        << (options.flush_at_close ? ", flush at close" : "")
        << (call.drain_after ? ", then drain" : "") << "\n";
    for (std::size_t rank = 0; rank < call.requests.size(); ++rank) {
        out << "    rank " << rank << ":";
        show_pieces(out, call.requests[rank]);
        out << "\n";
    }
}

void show_conditions(std::ostream& out, Conditions const& conditions) {
    out << "  conditions: seed " << conditions.seed << ", delays up to "
        << conditions.delay_ticks_max << " ticks, pauses up to " << conditions.pause_ticks_max
        << (conditions.synchronous ? ", some sends are synchronous" : "")
        << (conditions.overlaps ? ", file accesses overlap" : "");
    if (conditions.slow_rank) out << ", rank " << *conditions.slow_rank << " is slow";
    for (std::size_t node = 0; node < conditions.node_lacks_memory.size(); ++node)
        if (conditions.node_lacks_memory[node]) out << ", node " << node << " has no shared memory";
    for (auto const& [rank, await, ticks] : conditions.stalls)
        out << ", rank " << rank << " stops at await " << await << " for "
            << (ticks == 0 ? "good" : std::to_string(ticks) + " ticks");
    for (auto const& [rank, access, code] : conditions.faults)
        out << ", access " << access << " of rank " << rank << " fails with "
            << strerrorname_np(code);
    out << "\n";
}

// Windows go through holes (view_based's blocks through all, others through those of less than a
// cell): a few bytes far apart, with windows of a few bytes, would take most of the time of all
// seeds.
void bound_windows(Scenario& scenario) {
    constexpr std::uint64_t windows_max = 500;
    std::uint64_t end = 0;
    for (auto const& call : scenario.calls)
        for (auto const& request : call.requests)
            if (!request.positions.empty())
                end = std::max(end, touched(request.view, request.positions).end);
    for (auto& call : scenario.calls) {
        auto& options = call.options;
        auto const larger = div_ceil(end, windows_max * options.cb_buffer_size);
        if (larger <= 1) continue;
        options.cb_buffer_size *= larger;
        options.pool_bytes *= larger;
    }
}

}  // namespace

std::string_view name_of(Canary canary) {
    switch (canary) {
        case Canary::none:
            return "none";
        case Canary::forgets_last_byte:
            return "forgets-last-byte";
        case Canary::leaves_when_empty:
            return "leaves-when-empty";
        case Canary::lets_messages_overtake:
            return "lets-messages-overtake";
    }
    return "";
}

std::vector<Canary> all_canaries() {
    return {Canary::forgets_last_byte, Canary::leaves_when_empty, Canary::lets_messages_overtake};
}

Scenario make_scenario(std::uint64_t seed, Canary canary) {
    Case made{seed};
    Scenario scenario{.layout = made.layout,
                      .file_bytes = made.file_bytes,
                      .on_device = made.on_device,
                      .canary = canary};
    scenario.node_labels = made.topology.node_of;
    auto const messages_only = one_in(made, 8);
    if (messages_only) std::iota(scenario.node_labels.begin(), scenario.node_labels.end(), 0);
    auto const usual = some_options(made);
    for (auto count = 1 + made.below(6); count > 0; --count) add_call(made, scenario, usual);
    scenario.calls.back().drain_after = true;
    bound_windows(scenario);
    scenario.conditions =
        some_conditions(made, scenario.ranks(), make_topology(scenario.node_labels).nodes());
    // Where nobody meets, a fault is told to its rank alone.
    if (!scenario.conditions.faults.empty())
        for (auto& call : scenario.calls) call.options.read_ahead = Switch::disable;
    scenario.conditions.messages_overtake = canary == Canary::lets_messages_overtake;
    return scenario;
}

std::string show(Scenario const& scenario) {
    std::ostringstream out;
    out << "  " << scenario.ranks() << " ranks on nodes";
    for (auto const node : make_topology(scenario.node_labels).node_of) out << " " << node;
    out << "; a file of " << scenario.file_bytes << " bytes"
        << (scenario.layout.known() ? " with a layout" : "");
    for (std::size_t rank = 0; rank < scenario.on_device.size(); ++rank)
        if (scenario.on_device[rank]) out << "; rank " << rank << "'s memory is a device's";
    out << "\n";
    show_conditions(out, scenario.conditions);
    for (std::size_t call = 0; call < scenario.calls.size(); ++call) {
        out << "  call " << call << ": ";
        show_call(out, scenario.calls[call]);
    }
    return out.str();
}

}  // namespace unisono::simulated
