#pragma once

#include <cassert>
#include <cstdint>
#include <map>
#include <span>

#include "exchange/team.hpp"
#include "support/hash.hpp"
#include "unisono/view.hpp"

namespace unisono {

/// Names a view's byte map by its content, displacement apart: 128 bits, so that two views never
/// have the same name by chance.
using ViewKey = Hash128;

/// All that one rank has to say about one call once its view is known: the ends of its interval.
struct ViewInterval {
    ViewKey view{};
    std::int64_t origin = 0;
    std::int64_t extent = 0;
    Positions positions;  ///< empty: the rest is of no meaning
};

ViewKey key_of(Shape const& shape);

/// Which views the aggregators know. Equal on all ranks, as far as the keys go.
///
/// A view is sent when it is first met, together with the other new ones of its node, once to each
/// node with aggregators, where it is handed on: O(ranks + nodes x aggregators) messages, and none
/// afterwards.
/// Source: View-based collective I/O (CCGrid 2008), section V. Differs: there every rank sends its
/// decoded view to every aggregator, at set_view.
class ViewDirectory {
public:
    /// This rank's interval. Cost: O(description) when the view has changed, else O(1).
    ViewInterval interval_of(Tiling const& view, Positions positions);

    /// Makes the aggregators know the views of all ranks' intervals. `mine` belongs to this rank's.
    /// Collective over the team; no messages when all are known.
    void learn(Team& team, std::span<std::uint32_t const> aggregators,
               std::span<ViewInterval const> intervals, ShapePtr const& mine);

    /// The aggregators know this interval's view. Equal on all ranks.
    [[nodiscard]] bool knows(ViewInterval const& interval) const {
        return known_.contains(interval.view);
    }

    /// Another rank's view; on aggregators only.
    [[nodiscard]] Tiling tiling(ViewInterval const& interval) const {
        assert(known_.contains(interval.view) && known_.at(interval.view) != nullptr);
        return {known_.at(interval.view), interval.origin, interval.extent};
    }

private:
    std::map<ViewKey, ShapePtr> known_;  // null where this rank is no aggregator
    ShapePtr latest_;
    ViewKey latest_key_{};
};

}  // namespace unisono
