#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "strategies/scene.hpp"

namespace unisono {

/// Plans as text, for people and tests. A block is `block_bytes` of the file; one that is owned in
/// part is shown like a whole one.

/// Per aggregator, the blocks that it owns in the order in which it accesses them, and the server
/// of each: "a0 rank 2: blocks 0 4 8 servers 0 0 0".
std::string show_aggregators(Plan const& plan, Layout const& layout, std::uint64_t block_bytes);

/// Per server, who accesses which of its blocks in which order: "server 1: a0 1 | a1 5".
/// Accesses of several aggregators (between the bars) come in any order.
std::string show_servers(Plan const& plan, Layout const& layout, std::uint64_t block_bytes);

/// Who begins after whom in a direct plan: "3 after 0, 4 after 1".
std::string show_turns(Plan const& plan);

/// What each aggregator owns: its realm, or the blocks that are dealt to them in turn.
std::vector<Realm> owned_realms(Plan const& plan, Facts const& facts);

/// A plan as a picture: one column per block of the touched range, one line per aggregator or, in
/// direct plans, per rank; === where it accesses all of what anybody asked for there, =   a part.
std::string draw(Scene const& scene, Facts const& facts, Plan const& plan,
                 std::uint64_t block_bytes);

/// The pictures of docs/understand/strategies.md: a strategy's plans for small fixed examples.
/// Empty when there are none.
std::string draw_examples(std::string_view strategy);

}  // namespace unisono
