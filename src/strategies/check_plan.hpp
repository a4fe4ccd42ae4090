#pragma once

#include <string>

#include "unisono/plan.hpp"

namespace unisono {

/// What is wrong with a strategy's plan for a call, e.g. "realms of aggregators 2 and 3 overlap at
/// byte 4096"; empty: it keeps what Plan promises. A function of facts and plan, so that all ranks
/// come to the same. Needs Facts::topology.
///
/// Of realms that repeat, however long, one common period behind each of their ends is walked, 2^16
/// pieces for each group of aggregators at most: beyond these only bytes are counted. Bytes that no
/// realm has are held against the plan when some rank may ask for them: those it asks for where
/// Facts::loops and Facts::ranks say so, else its first to last byte if the strategy gathers these,
/// else all of Facts::cells that somebody asks for, else all of Facts::touched.
/// Cost: O((ranks + aggregators) * log), and the pieces walked.
std::string check_plan(Facts const& facts, Plan const& plan);

}  // namespace unisono
