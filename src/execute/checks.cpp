#include "execute/checks.hpp"

#include <array>
#include <optional>
#include <string_view>

#include "exchange/view_directory.hpp"
#include "options/options.hpp"
#include "strategies/all.hpp"
#include "strategies/ask.hpp"
#include "strategies/check_plan.hpp"
#include "support/byte_stream.hpp"
#include "support/hash.hpp"

namespace unisono {
namespace {

/// Something that all ranks should have alike, and a number that is hardly ever equal if they have
/// not.
struct Common {
    std::string_view name;
    std::uint64_t digest;
};

std::uint64_t digest_of(std::vector<std::byte> const& bytes) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
    return hash64({reinterpret_cast<char const*>(bytes.data()), bytes.size()});
}

template <class... Values>
std::uint64_t digest_of_all(Values const&... values) {
    ByteWriter writer;
    (writer(values), ...);
    return digest_of(writer.bytes);
}

template <class Value>
std::vector<Value> listed(std::span<Value const> values) {
    return {values.begin(), values.end()};
}

std::uint64_t digest_of_realm(Realm const& realm) {
    if (realm.empty()) return 0;
    auto const& [shape, origin, extent] = realm.tiling;
    return digest_of_all(key_of(*shape), origin + shape->start, extent, realm.positions);
}

struct Difference {
    std::uint32_t rank;
    std::size_t index;
};

// Where the first rank that has another list than rank 0 differs from it first. Collective.
std::optional<Difference> find_difference(Team& team, std::vector<std::uint64_t> const& mine) {
    auto const all = team.gather_values(std::span{mine});
    for (std::uint32_t rank = 1; rank < team.topology().ranks(); ++rank)
        for (std::size_t i = 0; i < mine.size(); ++i)
            if (all[rank * mine.size() + i] != all[i]) return Difference{rank, i};
    return {};
}

std::vector<std::uint64_t> digests_of(std::span<Common const> things) {
    std::vector<std::uint64_t> digests;
    for (auto const& thing : things) digests.push_back(thing.digest);
    return digests;
}

bool asks_for_plugin(Options const& options) {
    auto const* const named = find_strategy(options.strategy);
    return named != nullptr && is_plugin(*named);
}

// Whose ranks differ in what a plug-in plans hang, or mix up data.
bool compares(Options const& options) {
    return options.check == "communicate" || asks_for_plugin(options);
}

[[noreturn]] void fail(Options const& options, std::uint32_t rank, std::string_view what) {
    throw CheckFailed{
        (asks_for_plugin(options) ? "strategy " + options.strategy : "UNISONO_CHECK") + ": rank " +
        std::to_string(rank) + " differs from rank 0 in " + std::string{what}};
}

}  // namespace

void compare_calls(Team& team, Options const& options, Request const& request, Facts const& facts,
                   Layout const& layout, Selection const& selection) {
    if (!compares(options)) return;
    auto const& strategy = *selection.strategy;
    std::array const things{
        Common{"the direction of the call", digest_of_all(request.direction)},
        Common{"the size of its view's etype", digest_of_all(request.etype_bytes)},
        Common{"its options", digest_of(to_bytes(options))},
        Common{"the layout of the file", digest_of(to_bytes(layout))},
        Common{"what all ranks touch", digest_of_all(facts.touched, facts.bytes, facts.pieces,
                                                     facts.request_hash, facts.file_bytes)},
        Common{"the kind of call",
               digest_of_all(facts.direction, facts.rank_ordered, facts.ascending,
                             facts.local_storage, facts.page_cached, facts.mappable,
                             facts.native_ready, facts.cacheable, facts.links)},
        Common{"the loops of pieces", digest_of_all(facts.loops.piece_bytes, facts.loops.loops)},
        Common{"the strategy", digest_of_all(std::string{strategy.name})},
        Common{
            "what the strategy gathers",
            digest_of_all(strategy.gathers, ask_cell_bytes(strategy, facts, *selection.options))},
        Common{"the options that are tried", digest_of(to_bytes(*selection.options))},
    };
    if (auto const found = find_difference(team, digests_of(things)))
        fail(options, found->rank, things[found->index].name);
}

void compare_plans(Team& team, Options const& options, Facts const& facts, Plan const& plan) {
    if (!compares(options)) return;
    std::vector<std::uint64_t> realms;
    for (auto const& realm : plan.realms) realms.push_back(digest_of_realm(realm));
    std::array const things{
        Common{"what was gathered", digest_of_all(listed(facts.ranks), listed(facts.server_bytes))},
        Common{"the way of the plan", digest_of_all(plan.way)},
        Common{"the turns of the plan", digest_of_all(plan.waits_for, plan.delay_s)},
        Common{"the aggregators of the plan", digest_of_all(plan.aggregators, plan.within_nodes)},
        Common{"the windows of the plan",
               digest_of_all(plan.window_bytes, plan.staggered, plan.list_extents_max,
                             plan.prefetch_then_read, plan.intra_node_aggregation)},
        Common{"the blocks of the plan",
               digest_of_all(plan.block_bytes, plan.pool_bytes, plan.flush_online,
                             plan.unsaved_bytes, plan.unsaved_s)},
        Common{"the number of realms of the plan", digest_of_all(realms.size())},
        Common{"a realm of the plan", digest_of_all(realms)},
    };
    auto const found = find_difference(team, digests_of(things));
    if (!found) return;
    if (found->index + 1 < things.size()) fail(options, found->rank, things[found->index].name);
    // All have equally many.
    auto const realm = find_difference(team, realms);
    fail(options, realm->rank, "realm " + std::to_string(realm->index) + " of the plan");
}

std::string refuse_plan(Options const& options, Facts const& facts, Strategy const& strategy,
                        Plan const& plan) {
    auto const own = !is_plugin(strategy);
    if (own && options.check == "none") return {};
    auto const fault = check_plan(facts, plan);
    if (fault.empty()) return {};
    if (own)
        throw CheckFailed{"UNISONO_CHECK: the plan of " + std::string{strategy.name} +
                          " is wrong: " + fault};
    return "its plan is wrong: " + fault;
}

}  // namespace unisono
