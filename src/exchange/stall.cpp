#include "exchange/stall.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "support/text.hpp"

namespace unisono {
namespace {

bool same_call(CallSeen const& one, CallSeen const& other) {
    return one.inside && other.inside && one.number == other.number && one.tag.goes_with(other.tag);
}

// Is in the call, or has been.
bool has_come(CallSeen const& call, CallSeen const& mine) {
    if (same_call(call, mine)) return true;
    if (call.tag.file != mine.tag.file) return false;
    return call.number > mine.number ||
           (call.number == mine.number && !call.inside && call.tag.goes_with(mine.tag));
}

bool all_have_come(NodeSeen const& seen) {
    auto const& mine = seen.calls[seen.me];
    return std::ranges::all_of(seen.calls, [&](auto const& call) { return has_come(call, mine); });
}

// Other nodes' ranks cannot be seen: where all of this node are in the call, somebody is missing
// elsewhere. That node says who, unless all of it are missing; so a few others speak, too.
bool speaks_for_others(NodeSeen const& seen) { return std::popcount(seen.node) <= 1; }

// Of those that are at the same place in the order of the file's calls the lowest that waits for
// others; the lowest, if all wait for the file.
bool is_to_speak(NodeSeen const& seen) {
    auto const& mine = seen.calls[seen.me];
    for (std::size_t i = 0; i < seen.calls.size(); ++i) {
        auto const& call = seen.calls[i];
        auto const beside_me = i != seen.me && call.inside && call.number == mine.number &&
                               call.tag.file == mine.tag.file;
        if (beside_me && std::pair{call.accesses, i} < std::pair{mine.accesses, seen.me})
            return false;
    }
    return true;
}

bool never_comes(CallSeen const& call, CallSeen const& mine, CallWords const& words) {
    if (call.number == 0 || call.tag.file != mine.tag.file || has_come(call, mine)) return false;
    return words.is_last(call.tag.operation) || (call.inside && call.number == mine.number);
}

bool somebody_never_comes(NodeSeen const& seen, CallWords const& words) {
    auto const& mine = seen.calls[seen.me];
    return std::ranges::any_of(seen.calls,
                               [&](auto const& call) { return never_comes(call, mine, words); });
}

std::string describe_call(CallSeen const& call, CallWords const& words) {
    auto text = words.operation(call.tag.operation) + ", collective call " +
                std::to_string(call.number) + " on " + words.file(call.tag.file);
    if (call.offset != CallSeen::no_offset) text += ", offset " + std::to_string(call.offset);
    return text;
}

std::string describe_place(CallSeen const& call, CallSeen const& waiting, CallWords const& words) {
    if (same_call(call, waiting))
        return call.accesses ? "in it, accessing the file or waiting for its turn to" : "in it";
    if (call.inside) return "in " + describe_call(call, words);
    if (call.number == 0) return "not yet in any collective call";
    return "in no collective call; the last was " + describe_call(call, words);
}

std::string describe_tag(CallTag tag, CallWords const& words) {
    return words.operation(tag.operation) + " on " + words.file(tag.file);
}

}  // namespace

StallObserver::Finding StallObserver::look(NodeSeen const& seen, double slept_s, double limit_s,
                                           CallWords const& words) {
    auto const& mine = seen.calls[seen.me];
    auto const stuck = mine.inside && mine.tag.file == file_ && mine == last_;
    last_ = mine;
    waited_s_ = stuck ? waited_s_ + slept_s : 0;
    auto const all_here = all_have_come(seen);
    auto const only_slow = all_here && mine.accesses;
    if (!stuck || only_slow || told_ == mine.number || !is_to_speak(seen)) return Finding::none;
    auto finding = Finding::none;
    // Who sees somebody missing speaks first.
    auto const elsewhere = seen.nodes > 1 && all_here;
    constexpr double later = 1.1;
    if (somebody_never_comes(seen, words))
        finding = Finding::no_end;
    else if (waited_s_ >= limit_s * (elsewhere ? later : 1) &&
             (!elsewhere || speaks_for_others(seen)))
        finding = Finding::long_wait;
    if (finding != Finding::none) told_ = mine.number;
    return finding;
}

std::string describe_stall(NodeSeen const& seen, double waited_s, CallWords const& words) {
    auto const& mine = seen.calls[seen.me];
    auto text = "unisono: rank " + std::to_string(seen.ranks[seen.me]) + " has been for " +
                human_seconds(waited_s) + " in " + describe_call(mine, words);
    std::vector<std::pair<std::string, std::vector<std::uint32_t>>> places;
    for (std::size_t i = 0; i < seen.calls.size(); ++i) {
        auto const place = describe_place(seen.calls[i], mine, words);
        auto known =
            std::ranges::find(places, place, [](auto const& entry) { return entry.first; });
        if (known == places.end()) known = places.insert(known, {place, {}});
        known->second.push_back(seen.ranks[i]);
    }
    for (auto const& [place, ranks] : places)
        text += (ranks.size() == 1 ? "; rank " : "; ranks ") + number_ranges(ranks) + ": " + place;
    if (seen.nodes > 1) text += "; ranks on other nodes cannot be seen from here";
    return text;
}

std::string describe_difference(Difference const& difference, CallWords const& words) {
    return "rank " + std::to_string(difference.other_rank) + " has called " +
           describe_tag(difference.other, words) + " where rank " +
           std::to_string(difference.first_rank) + " has called " +
           describe_tag(difference.first, words);
}

}  // namespace unisono
