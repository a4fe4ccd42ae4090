#include "select/rule.hpp"

#include "strategies/all.hpp"
#include "strategies/ask.hpp"
#include "strategies/node_realms.hpp"

namespace unisono {
namespace {

// From this piece size on, each rank for itself is faster than an exchange
// (docs/lab/tried.md). On a node's own file system there is a system call per piece, and
// writers wait for the file's lock.
constexpr std::uint64_t large_piece_bytes(Facts const& facts) {
    if (!facts.local_storage) return 64 << 10;
    return facts.direction == Direction::read ? 16 << 10 : 512 << 10;
}

// Small pieces of many ranks of a node, side by side: one request for all is much less work for a
// server than one for each, and costs a copy in the node's memory.
bool nodes_have_many_small_pieces(Facts const& facts, Options const& options) {
    constexpr std::uint32_t many = 8;
    return facts.topology->ranks() / facts.topology->nodes() >= many &&
           may_cut_at_nodes(facts, options) && !ranges_of_nodes(facts).empty();
}

// Whether the hint for it leads to blocks that live across calls. A node's own page cache is such
// memory already, and between nodes nothing is read ahead (execute/cached/withdrawal.cpp).
bool blocks_asked_for(Facts const& facts, Options const& options) {
    return across_calls(options, facts.direction) == Switch::enable && !facts.local_storage &&
           (facts.direction == Direction::write || facts.topology->nodes() == 1) &&
           view_based.unfit(facts).empty();
}

// Each call by itself would ask servers for little, and wait for them. A call's errors come later
// then, and a killed program loses what is in memory: so only where somebody has said how much that
// may be, nobody can miss it in this file, and the program is about to write on.
bool writes_behind_unasked(Facts const& facts, Options const& options) {
    constexpr std::uint32_t repeats_least = 2;
    constexpr std::uint64_t node_bytes_most = 4 << 20;  // a window has several calls
    return options.write_behind == Switch::automatic && options.write_behind_bytes != 0 &&
           options.cb_write != Switch::disable && options.check == "none" &&
           facts.direction == Direction::write && facts.write_only && !facts.local_storage &&
           facts.repeats >= repeats_least &&
           facts.bytes <= facts.topology->nodes() * node_bytes_most &&
           facts.mean_piece_bytes() < large_piece_bytes(facts) && view_based.unfit(facts).empty();
}

Selection by_rule(Facts const& facts, Options const& options) {
    auto const guess = [&](std::string_view why) {
        return Selection{.strategy = &two_phase, .options = &options, .why = why, .guessed = true};
    };
    auto const buffering = facts.direction == Direction::read ? options.cb_read : options.cb_write;
    if (!facts.ascending) return {&independent, &options, "a view's tiles run into each other"};
    if (!independent.unfit(facts).empty()) return {&two_phase, &options, independent.unfit(facts)};
    if (buffering == Switch::enable)
        return {&two_phase, &options, "hint: collective buffering enabled"};
    if (buffering == Switch::disable)
        return {&independent, &options, "hint: collective buffering disabled"};
    if (facts.mean_piece_bytes() >= large_piece_bytes(facts))
        return {&independent, &options, "large pieces"};
    if (nodes_have_many_small_pieces(facts, options))
        return guess("small pieces, side by side on each node");
    auto const few = facts.pieces <= facts.topology->ranks();
    if (facts.rank_ordered && few)
        return {&independent, &options, "few contiguous pieces, in rank order"};
    // Nobody need ask it for all; such as metadata, which every rank reads.
    if (facts.local_storage && few)
        return {&independent, &options, "few pieces, in the node's own page cache"};
    return guess("small or interleaved pieces");
}

}  // namespace

Selection choose(Facts const& facts, Options const& options) {
    // Strategies need not cope with that: they may divide by what is there.
    if (facts.bytes == 0) return {&independent, &options, "nothing to do"};
    auto const* named = find_strategy(options.strategy);
    auto const reads = facts.direction == Direction::read;
    if (named == nullptr && blocks_asked_for(facts, options))
        return {&view_based, &options, reads ? "hint: read-ahead" : "hint: write-behind"};
    if (named == nullptr && writes_behind_unasked(facts, options))
        return {&view_based, &options, "small writes repeat: in memory until sync or close"};
    if (named == nullptr) return by_rule(facts, options);
    if (auto const refusal = ask(*named, named->unfit, facts); !refusal.empty())
        return choose_instead(facts, options, refusal);
    return {named, &options, options.strategy_why};
}

Selection choose_instead(Facts const& facts, Options const& options, std::string_view refusal) {
    auto selection = by_rule(facts, options);
    selection.refusal = refusal;
    return selection;
}

}  // namespace unisono
