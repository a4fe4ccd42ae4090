#pragma once

#include <stdexcept>
#include <string>

#include "exchange/team.hpp"
#include "execute/request.hpp"
#include "select/rule.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// Something is wrong, found before a byte was moved. Thrown on all ranks, with the same words.
class CheckFailed : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// UNISONO_CHECK=communicate, or a plug-in asked for: throws CheckFailed when ranks do not call
/// alike, or have agreed on or selected different things, and says which rank is the first that
/// differs from rank 0 in what. Collective; one gather then, else nothing.
void compare_calls(Team& team, Options const& options, Request const& request, Facts const& facts,
                   Layout const& layout, Selection const& selection);

/// The same for what was gathered and planned. One gather, one more where realms differ.
void compare_plans(Team& team, Options const& options, Facts const& facts, Plan const& plan);

/// Why a strategy's plan must not be performed; empty: nothing speaks against it. Plans of plug-ins
/// are always checked, Unisono's own where UNISONO_CHECK asks for it: then it throws CheckFailed,
/// because a wrong one is a mistake in Unisono. Local, and equal on all ranks if the plans are.
std::string refuse_plan(Options const& options, Facts const& facts, Strategy const& strategy,
                        Plan const& plan);

}  // namespace unisono
