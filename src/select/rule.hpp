#pragma once

#include <string>
#include <string_view>

#include "unisono/plan.hpp"

namespace unisono {

struct Selection {
    Strategy const* strategy = nullptr;
    Options const* options = nullptr;  ///< to plan with; whoever has selected keeps them
    std::string_view why;
    std::string refusal = {};  ///< why the strategy that was asked for could not do it
    bool lasting = true;       ///< the next such calls will be done alike: it is not just tried
    bool guessed = false;      ///< another one may well be faster
};

/// Which strategy does this call: the user's word, then a rule over sizes and interleaving.
/// A named strategy that is unfit for the call gives way to the rule. Pure, O(1).
Selection choose(Facts const& facts, Options const& options);

/// The rule alone, because what was chosen turned out to be unfit.
Selection choose_instead(Facts const& facts, Options const& options, std::string_view refusal);

}  // namespace unisono
