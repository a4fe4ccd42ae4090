#include "strategies/check_plan.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <sstream>

#include "access/copy.hpp"
#include "strategies/node_realms.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t pieces_at_most = 1 << 16;
constexpr std::uint64_t block_bytes_most = std::uint64_t{1} << 40;
constexpr std::uint64_t pools_bytes_most = std::uint64_t{1} << 60;  // of all aggregators

template <class... Parts>
std::string say(Parts const&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return std::move(text).str();
}

std::string check_aggregators(Facts const& facts, Plan const& plan) {
    if (plan.aggregators.empty() && facts.bytes > 0) return "it has no aggregators";
    auto const ranks = facts.topology->ranks();
    for (std::size_t i = 0; i < plan.aggregators.size(); ++i)
        if (plan.aggregators[i] >= ranks)
            return say("aggregator ", i, " is rank ", plan.aggregators[i], " of ", ranks);
    return {};
}

// Whether the positions have offsets at all that a file can have.
bool within_any_file(Realm const& realm) {
    auto const& [shape, origin, extent] = realm.tiling;
    auto const last_tile = (realm.positions.end - 1) / shape->bytes;
    std::int64_t offset = 0;
    return !__builtin_mul_overflow(last_tile, extent, &offset) &&
           !__builtin_add_overflow(offset, origin, &offset) &&
           !__builtin_add_overflow(offset, std::max<std::int64_t>(shape->high, 0), &offset) &&
           offset_of(realm.tiling, realm.positions.begin) >= 0;
}

std::string check_realm(Facts const& facts, Realm const& realm, std::size_t aggregator) {
    if (realm.empty()) return {};
    auto const the_realm = say("the realm of aggregator ", aggregator);
    auto const& tiling = realm.tiling;
    if (tiling.shape == nullptr || tiling.shape->empty()) return the_realm + " has no shape";
    if (!tiling.ascending()) return the_realm + " does not ascend";
    if (!within_any_file(realm)) return the_realm + " reaches beyond any file";
    auto const [begin, end] = touched(realm);
    if (begin < facts.touched.begin || end > facts.touched.end)
        return say(the_realm, " has bytes ", begin, " to ", end, ", but only ", facts.touched.begin,
                   " to ", facts.touched.end, " are touched");
    return {};
}

/// Aggregators that share out a range among them: all, or one node's.
struct Group {
    std::string name;  // " of node 1", or empty
    std::vector<std::size_t> aggregators;
    std::vector<std::uint32_t> ranks;  // that hand their data to them
};

std::vector<Group> groups_of(Facts const& facts, Plan const& plan) {
    auto const& topology = *facts.topology;
    if (!plan.within_nodes) {
        Group all{.aggregators = std::vector<std::size_t>(plan.aggregators.size()),
                  .ranks = std::vector<std::uint32_t>(topology.ranks())};
        std::iota(all.aggregators.begin(), all.aggregators.end(), 0);
        std::iota(all.ranks.begin(), all.ranks.end(), 0);
        return {all};
    }
    std::vector<Group> nodes;
    for (std::size_t node = 0; node < topology.nodes(); ++node)
        nodes.push_back({say(" of node ", node), {}, topology.ranks_of[node]});
    for (std::size_t i = 0; i < plan.aggregators.size(); ++i)
        nodes[topology.node_of[plan.aggregators[i]]].aggregators.push_back(i);
    return nodes;
}

/// What the ranks of a group may ask for, as far as the facts tell.
class Asked {
public:
    Asked(Facts const& facts, Group const& group) {
        if (!facts.ranks.empty()) {
            for (auto const rank : group.ranks)
                if (facts.ranks[rank].bytes > 0) add(facts.ranks[rank].touched, facts.loops);
        } else if (!facts.cells.empty()) {
            for (std::size_t cell = 0; cell < facts.cells.size(); ++cell)
                if (facts.cells[cell].bytes > 0) ranges_.push_back(extent_of_cell(facts, cell));
        } else if (!facts.touched.empty()) {
            ranges_.push_back(facts.touched);
        }
        merge_ranges();
    }

    /// Ascending, disjoint: nothing is asked for outside of them.
    [[nodiscard]] std::vector<Extent> const& ranges() const { return ranges_; }
    /// Every byte of the ranges counts as asked for.
    [[nodiscard]] bool without_holes() const { return requests_.empty(); }
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (auto const& range : ranges_) sum += range.bytes();
        return sum;
    }
    /// The first byte of a hole that is asked for; its end: none.
    [[nodiscard]] std::uint64_t first_in(Extent hole) const {
        auto first = hole.end;
        for (auto const& request : requests_)
            if (auto const part = within(request, hole); !part.empty())
                first = std::min(first, touched(part).begin);
        if (!without_holes()) return first;
        auto const range = std::ranges::upper_bound(ranges_, hole.begin, {}, &Extent::end);
        return range == ranges_.end() ? hole.end : std::clamp(range->begin, hole.begin, hole.end);
    }

private:
    void add(Extent touched, Loops const& loops) {
        ranges_.push_back(touched);
        if (loops.empty()) return;
        auto shape = make_dense(loops.piece_bytes);
        for (auto const& [count, stride] : loops.loops)
            shape = make_repeat(count, static_cast<std::int64_t>(stride), shape);
        Realm const request{{shape, static_cast<std::int64_t>(touched.begin), shape->high},
                            {0, shape->bytes}};
        if (request.tiling.ascending()) requests_.push_back(request);
    }

    void merge_ranges() {
        std::ranges::sort(ranges_, {}, &Extent::begin);
        std::vector<Extent> merged;
        for (auto const& range : ranges_)
            if (merged.empty() || merged.back().end < range.begin)
                merged.push_back(range);
            else
                merged.back() = hull(merged.back(), range);
        ranges_ = std::move(merged);
    }

    std::vector<Extent> ranges_;
    std::vector<Realm> requests_;
};

/// Looks for bytes that two realms of a group have, and for those that none has.
class Tally {
public:
    Tally(Facts const& facts, Plan const& plan, Group const& group)
        : facts_{facts},
          plan_{plan},
          group_{group},
          asked_{facts, group},
          page_bytes_{pages_must_not_be_shared(facts) ? client_page_bytes : 1} {
        for (auto const i : group.aggregators)
            if (!plan.realms[i].empty())
                owned_.push_back({i, &plan.realms[i], touched(plan.realms[i])});
        std::ranges::sort(owned_, {}, [](Owned const& owned) { return owned.range.begin; });
    }

    std::string find_fault() {
        for (auto const& region : regions())
            if (auto fault = fault_in(region); !fault.empty() || pieces_ > pieces_at_most)
                return fault.empty() ? fault_of_sum() : fault;
        return fault_of_sum();
    }

private:
    struct Owned {
        std::size_t aggregator;
        Realm const* realm;
        Extent range;
    };
    struct Piece {
        Extent file;
        std::size_t aggregator;
    };

    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t bytes = 0;
        for (auto const& owned : owned_) bytes += owned.realm->bytes();
        return bytes;
    }

    [[nodiscard]] std::string fault_of_sum() const {
        auto const bytes = sum();
        if (bytes > facts_.touched.bytes() || (asked_.without_holes() && bytes < asked_.bytes()))
            return say("realms", group_.name, " have ", bytes, " bytes of ",
                       facts_.touched.bytes());
        return {};
    }

    // So many bytes on, all realms have the same again, until one of them begins or ends. Holes in
    // what is asked for have periods of their own: then everything is walked.
    [[nodiscard]] std::uint64_t common_period() const {
        auto const whole = facts_.touched.bytes();
        if (!asked_.without_holes() && sum() < whole) return whole;
        auto period = page_bytes_;
        for (auto const& owned : owned_) {
            auto const extent = static_cast<std::uint64_t>(owned.realm->tiling.extent);
            if (owned.realm->tiling.dense() || period % extent == 0) continue;
            auto const factor = extent / std::gcd(period, extent);
            if (period > whole / factor) return whole;
            period *= factor;
        }
        return std::min(period, whole);
    }

    // Behind every offset at which a realm, or what is asked for, begins or ends: one period, and
    // the page that it lies in.
    [[nodiscard]] std::vector<Extent> regions() const {
        std::vector<std::uint64_t> cuts;
        for (auto const& owned : owned_)
            cuts.insert(cuts.end(), {owned.range.begin, owned.range.end});
        for (auto const& range : asked_.ranges()) cuts.insert(cuts.end(), {range.begin, range.end});
        std::ranges::sort(cuts);
        auto const period = common_period();
        std::vector<Extent> regions;
        for (auto const cut : cuts) {
            Extent const region{std::max(facts_.touched.begin, round_down(cut, page_bytes_)),
                                std::min(facts_.touched.end, cut + period)};
            if (!regions.empty() && region.begin <= regions.back().end)
                regions.back().end = region.end;
            else if (!region.empty())
                regions.push_back(region);
        }
        return regions;
    }

    // Regions come ascending.
    std::string fault_in(Extent region) {
        for (; begun_ < owned_.size() && owned_[begun_].range.begin < region.end; ++begun_)
            under_way_.push_back(&owned_[begun_]);
        std::erase_if(under_way_,
                      [&](auto const* owned) { return owned->range.end <= region.begin; });
        std::vector<Piece> pieces;
        for (auto const* owned : under_way_) add_pieces(pieces, *owned, region);
        if (pieces_ > pieces_at_most) return {};
        std::ranges::sort(pieces, {}, [](Piece const& piece) { return piece.file.begin; });
        auto at = region.begin;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            auto const& [file, aggregator] = pieces[i];
            if (file.begin < at) return overlap(pieces[i - 1].aggregator, aggregator, file.begin);
            if (auto fault = fault_of_hole({at, file.begin}); !fault.empty()) return fault;
            if (i > 0 && share_a_page(pieces[i - 1], pieces[i]))
                return say("nodes share the page at byte ", round_down(file.begin, page_bytes_));
            at = file.end;
        }
        return fault_of_hole({at, region.end});
    }

    // And their nodes write whole pages back. The first one ends before the second one begins.
    [[nodiscard]] bool share_a_page(Piece const& first, Piece const& second) const {
        auto const node_of = [&](Piece const& piece) {
            return facts_.topology->node_of[plan_.aggregators[piece.aggregator]];
        };
        return (first.file.end - 1) / page_bytes_ == second.file.begin / page_bytes_ &&
               node_of(first) != node_of(second);
    }

    void add_pieces(std::vector<Piece>& pieces, Owned const& owned, Extent region) {
        auto const part = within(*owned.realm, region);
        pieces_ += piece_estimate(part.tiling, part.positions);
        if (pieces_ > pieces_at_most) return;
        walk(part.tiling, part.positions, [&](std::int64_t offset, std::uint64_t bytes) {
            auto const begin = static_cast<std::uint64_t>(offset);
            pieces.push_back({{begin, begin + bytes}, owned.aggregator});
        });
    }

    [[nodiscard]] static std::string overlap(std::size_t a, std::size_t b, std::uint64_t offset) {
        auto const [low, high] = std::minmax(a, b);
        return say("realms of aggregators ", low, " and ", high, " overlap at byte ", offset);
    }

    [[nodiscard]] std::string fault_of_hole(Extent hole) const {
        if (hole.empty()) return {};
        auto const first = asked_.first_in(hole);
        if (first == hole.end) return {};
        return say("byte ", first, " is in no realm", group_.name);
    }

    Facts const& facts_;
    Plan const& plan_;
    Group const& group_;
    Asked asked_;
    std::uint64_t page_bytes_;  // that no two nodes may write to; 1: there are none
    std::vector<Owned> owned_;  // by first byte
    std::size_t begun_ = 0;
    std::vector<Owned const*> under_way_;
    std::uint64_t pieces_ = 0;
};

// Nodes have different numbers of rounds, and touch bytes between each other's.
std::string check_within_nodes(Facts const& facts, Plan const& plan) {
    if (!plan.within_nodes || facts.topology->nodes() == 1) return {};
    if (plan.prefetch_then_read) return "nodes that read for themselves do not meet to prefetch";
    return std::string{unfit_to_share_pages(facts)};
}

std::string check_staged(Facts const& facts, Plan const& plan) {
    if (auto const why = unfit_to_stage(facts); !why.empty()) return std::string{why};
    if (auto fault = check_aggregators(facts, plan); !fault.empty()) return fault;
    if (plan.realms.size() != plan.aggregators.size())
        return say(plan.aggregators.size(), " aggregators have ", plan.realms.size(), " realms");
    if (plan.window_bytes == 0) return "its windows have no bytes";
    if (auto fault = check_within_nodes(facts, plan); !fault.empty()) return fault;
    for (std::size_t i = 0; i < plan.realms.size(); ++i)
        if (auto fault = check_realm(facts, plan.realms[i], i); !fault.empty()) return fault;
    for (auto const& group : groups_of(facts, plan))
        if (auto fault = Tally{facts, plan, group}.find_fault(); !fault.empty()) return fault;
    return {};
}

std::string check_cached(Facts const& facts, Plan const& plan) {
    if (auto fault = check_aggregators(facts, plan); !fault.empty()) return fault;
    if (plan.block_bytes == 0 || plan.block_bytes > block_bytes_most)
        return say("its blocks have ", plan.block_bytes, " bytes");
    if (plan.pool_bytes < plan.block_bytes)
        return say("its pools of ", plan.pool_bytes, " bytes cannot hold a block of ",
                   plan.block_bytes);
    if (plan.pool_bytes > pools_bytes_most / std::max<std::size_t>(plan.aggregators.size(), 1))
        return say("its ", plan.aggregators.size(), " pools have ", plan.pool_bytes, " bytes each");
    return std::string{unfit_to_cache(facts)};
}

std::string check_turns(Facts const& facts, Plan const& plan) {
    auto const& next = plan.waits_for;
    if (next.empty()) return {};
    auto const ranks = facts.topology->ranks();
    if (next.size() != ranks) return say(next.size(), " of ", ranks, " ranks have turns");
    if (!std::isfinite(plan.delay_s) || plan.delay_s < 0)
        return say("ranks wait for ", plan.delay_s, " seconds");
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (next[rank] >= ranks) return say("rank ", rank, " waits for rank ", next[rank]);
    std::vector<std::uint32_t> seen_from(ranks, ranks);
    for (std::uint32_t first = 0; first < ranks; ++first) {
        auto rank = first;
        for (; seen_from[rank] == ranks && next[rank] != rank; rank = next[rank])
            seen_from[rank] = first;
        if (next[rank] != rank && seen_from[rank] == first)
            return say("rank ", rank, " waits for itself by way of rank ", next[rank]);
    }
    return {};
}

}  // namespace

std::string check_plan(Facts const& facts, Plan const& plan) {
    assert(facts.topology != nullptr);
    switch (plan.way) {
        case Plan::Way::native:
            return {};
        case Plan::Way::direct:
            return check_turns(facts, plan);
        case Plan::Way::staged:
            return check_staged(facts, plan);
        case Plan::Way::cached:
            return check_cached(facts, plan);
    }
    return say("its way is number ", static_cast<unsigned>(plan.way));
}

}  // namespace unisono
