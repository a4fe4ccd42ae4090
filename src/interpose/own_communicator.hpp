#pragma once

#include <mpi.h>

#include <utility>

namespace unisono::interpose {

/// Ranks that cannot send each other anything cannot agree on an error, either: from now on errors
/// on `own`, and on communicators that are made of it, end the program in the MPI library's words.
void end_program_by_errors_on(MPI_Comm own);

/// The same for what a call on messages of `own` came to that does not name it.
void require_success(int code, MPI_Comm own);

/// While it lives, what this thread asks on such a communicator may be refused.
class ErrorsExpected {
public:
    ErrorsExpected() : before_{std::exchange(expected, true)} {}
    ~ErrorsExpected() { expected = before_; }
    ErrorsExpected(ErrorsExpected const&) = delete;
    ErrorsExpected& operator=(ErrorsExpected const&) = delete;

    [[nodiscard]] static bool now() { return expected; }

private:
    inline static thread_local bool expected = false;

    bool before_;
};

}  // namespace unisono::interpose
