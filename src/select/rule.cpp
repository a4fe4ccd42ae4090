#include "select/rule.hpp"

#include "strategies/all.hpp"

namespace unisono {
namespace {

// From this piece size on, each rank for itself is faster than an exchange on one node
// (docs/performance.md): one system call per piece; writes that grow a file contend for its lock.
constexpr std::uint64_t large_read_piece_bytes = 4 * 1024;
constexpr std::uint64_t large_write_piece_bytes = 64 * 1024;

Selection by_rule(Facts const& facts) {
    auto const buffering =
        facts.direction == Direction::read ? facts.options->cb_read : facts.options->cb_write;
    if (!facts.ascending) return {&independent, "a view's tiles run into each other"};
    if (!independent.unfit(facts).empty()) return {&two_phase, independent.unfit(facts)};
    if (buffering == Switch::enable) return {&two_phase, "hint: collective buffering enabled"};
    if (buffering == Switch::disable) return {&independent, "hint: collective buffering disabled"};
    auto const large_piece_bytes = facts.direction == Direction::read && facts.local_storage
                                       ? large_read_piece_bytes
                                       : large_write_piece_bytes;
    if (facts.mean_piece_bytes() >= large_piece_bytes) return {&independent, "large pieces"};
    if (facts.rank_ordered && facts.pieces <= facts.topology->ranks())
        return {&independent, "one contiguous piece per rank, not interleaved"};
    return {&two_phase, "small or interleaved pieces"};
}

}  // namespace

Selection choose(Facts const& facts) {
    // Strategies need not cope with that: they may divide by what is there.
    if (facts.bytes == 0) return {&independent, "nothing to do"};
    auto const* named = find_strategy(facts.options->strategy);
    if (named == nullptr) return by_rule(facts);
    if (auto const refusal = named->unfit(facts); !refusal.empty())
        return choose_instead(facts, refusal);
    return {named, "asked for"};
}

Selection choose_instead(Facts const& facts, std::string_view refusal) {
    auto selection = by_rule(facts);
    selection.refusal = refusal;
    return selection;
}

}  // namespace unisono
