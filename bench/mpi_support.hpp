#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace bench {

/// Throws std::runtime_error with the call's name and MPI's own words unless `code` is a success.
void check_mpi(int code, char const* call);

/// Ends all ranks, which may be waiting for this one, with a line on stderr.
[[noreturn]] void abort_all(std::string_view why);

// Collective.

template <typename Value>
Value over_ranks(Value value, MPI_Datatype type, MPI_Op operation, MPI_Comm comm = MPI_COMM_WORLD) {
    Value result{};
    MPI_Allreduce(&value, &result, 1, type, operation, comm);
    return result;
}

std::uint64_t sum_over_ranks(std::uint64_t value, MPI_Comm comm = MPI_COMM_WORLD);

constexpr std::int64_t no_offset = INT64_MAX;

/// The lowest of all ranks' offsets; `no_offset` if none has one.
std::int64_t lowest_over_ranks(std::optional<std::uint64_t> offset, MPI_Comm comm = MPI_COMM_WORLD);

}  // namespace bench
