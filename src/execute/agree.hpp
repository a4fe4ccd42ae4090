#pragma once

#include "execute/collective.hpp"
#include "execute/performed.hpp"

namespace unisono {

/// All ranks' proposals, merged. This rank's says what it asks for, and what its storage, the file
/// and the caller know. Collective.
Proposal agree_before(CollectiveFile const& file, Request const& request, CallerFacts const& caller,
                      CallRecord& record);

/// What the agreed proposal says of the call. Equal on all ranks; local.
Facts facts_of(Proposal const& agreed, CollectiveFile const& file, Request const& request);

/// What all ranks say of what came of the call: nothing more than they have said, or agree_on.
/// Collective.
Verdict agree_after(CollectiveFile const& file, Performed const& performed, CallRecord& record);

}  // namespace unisono
