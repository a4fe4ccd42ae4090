#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <cstdint>

namespace unisono::testbed {

/// Answers open and create so that requests arrive unmerged and writes to one file at once.
/// libfuse 3.14 has no field for the second, so the answer is made by hand.
void reply_open(fuse_req_t request, std::uint64_t handle);
void reply_create(fuse_req_t request, fuse_entry_param const& entry, std::uint64_t handle);

}  // namespace unisono::testbed
