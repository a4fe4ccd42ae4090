#pragma once

#include <memory>
#include <string>

#include "coordinate/wire/prover.hpp"

namespace unisono::coordinate::wire {

/// Those whom MUNGE knows as this user or as root trust each other: its daemons, one on each node
/// of a site, say whose a credential is. A statement is a credential's payload; each is taken once.
///
/// libmunge is loaded when it is asked for, so it need be there neither to build Unisono nor where
/// only key files are used. Throws std::runtime_error if the library is missing or its daemon does
/// not answer. `socket`: of the daemon; empty: the system's.
std::shared_ptr<Prover const> make_munge_prover(std::string const& socket);

}  // namespace unisono::coordinate::wire
