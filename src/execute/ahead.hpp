#pragma once

#include "execute/request.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// Whether a rank may do its part of a collective call before anything is agreed on: the last call
/// of that direction was done by every rank for itself, and not measured, and this one asks for one
/// piece. If all ranks have done so and the agreement comes to the same, the call is over with it:
/// one meeting where there are two. If not, the same bytes are moved once more, in the agreed way.
/// One object for each open file, local. Ours.
class AheadOfAgreement {
public:
    [[nodiscard]] bool may_try(Request const& request) const {
        return by_itself_[request.direction] && request.device == nullptr &&
               (request.positions.empty() ||
                touched(request.view, request.positions).bytes() == request.positions.bytes());
    }

    /// Every rank does its part by itself, and waits for nobody.
    [[nodiscard]] static bool suits(Plan const& plan) {
        return plan.way == Plan::Way::direct && plan.waits_for.empty();
    }
    /// The next call waits for the others first.
    void forget(Direction direction) { by_itself_[direction] = false; }
    void note(Direction direction, Plan const& plan) {
        by_itself_[direction] = suits(plan);
        of_another_file_ = false;
    }

    /// For the next file on the same device: its calls will be like those of this one.
    [[nodiscard]] AheadOfAgreement for_next_file() const {
        auto next = *this;
        next.of_another_file_ = true;
        return next;
    }
    /// If they have views: who has a wrong one says so before anything is moved in the first call.
    void note_view() {
        if (of_another_file_) by_itself_ = {};
    }

private:
    ByDirection<bool> by_itself_;  // the last call
    bool of_another_file_ = false;
};

}  // namespace unisono
