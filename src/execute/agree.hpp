#pragma once

#include "execute/collective.hpp"

namespace unisono {

/// All ranks' proposals, merged. Adds to this rank's what the file knows of it. Collective.
Proposal agree_before(CollectiveFile const& file, Request const& request, Proposal mine,
                      CallRecord& record);

/// What the agreed proposal says of the call. Equal on all ranks; local.
Facts facts_of(Proposal const& agreed, CollectiveFile const& file, Request const& request);

/// All ranks' results as one verdict, in which the lowest error in the file wins. Collective.
Verdict agree_after(CollectiveFile const& file, IoResult const& mine, CallRecord& record);

}  // namespace unisono
