#include "mpi_support.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

namespace bench {

void check_mpi(int code, char const* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw std::runtime_error(std::string(call) + ": " + std::string(text, length));
}

// MPICH's launcher stops reading once a rank has called MPI_Abort: without a moment's wait it lost
// all or half of the line.
void abort_all(std::string_view why) {
    std::cerr << std::string{why} + '\n' << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

std::uint64_t sum_over_ranks(std::uint64_t value, MPI_Comm comm) {
    return over_ranks(value, MPI_UINT64_T, MPI_SUM, comm);
}

/// Signed on purpose: MPICH 4.0.2 compares unsigned 64-bit numbers as signed in MPI_MIN, so that
/// UINT64_MAX for "none" would be the lowest and hide everybody's findings.
std::int64_t lowest_over_ranks(std::optional<std::uint64_t> offset, MPI_Comm comm) {
    auto const value = offset ? static_cast<std::int64_t>(*offset) : no_offset;
    return over_ranks(value, MPI_INT64_T, MPI_MIN, comm);
}

}  // namespace bench
