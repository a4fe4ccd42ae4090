#pragma once

#include <string_view>

#include "unisono/plan.hpp"

namespace unisono {

struct Selection {
    Strategy const* strategy = nullptr;
    std::string_view why;
};

/// Which strategy does this call: the user's word, then a rule over sizes and interleaving.
/// A named strategy that is unfit for the call gives way to the rule. Pure, O(1).
Selection choose(Facts const& facts);

}  // namespace unisono
