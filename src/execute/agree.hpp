#pragma once

#include "execute/collective.hpp"

namespace unisono {

/// All ranks' proposals, merged. This rank's says what it asks for, and what its storage, the file
/// and the caller know. Collective.
Proposal agree_before(CollectiveFile const& file, Request const& request, CallerFacts const& caller,
                      CallRecord& record);

/// What the agreed proposal says of the call. Equal on all ranks; local.
Facts facts_of(Proposal const& agreed, CollectiveFile const& file, Request const& request);

/// All ranks' results as one verdict, in which the lowest error in the file wins. Collective.
Verdict agree_after(CollectiveFile const& file, IoResult const& mine, CallRecord& record);

}  // namespace unisono
