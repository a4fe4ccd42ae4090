#pragma once

#include <cstdint>
#include <span>

#include "exchange/agreement.hpp"
#include "interpose/file.hpp"

namespace unisono::interpose {

// Arguments that MPI wants alike on all ranks. What is wrong on one is refused on all: else some
// would go on, and wait for the others, or come to something else.

/// What this rank brings to the ranks' meeting; `refusal`: an MPI error class, or 0. Local.
CallArguments arguments_with(File& file, std::span<std::uint64_t const> arguments, int refusal);

/// What the ranks have agreed on (CallArguments::objection and digest) as the call's result, which
/// the error handler has seen; `fault`: why some rank's arguments are refused.
int refuse_unless_alike(File& file, CallArguments const& agreed, char const* call,
                        char const* fault);

/// Both, with a meeting of the ranks between them.
int agree_on_argument(File& file, std::int64_t argument, int refusal, char const* call,
                      char const* fault);

}  // namespace unisono::interpose
