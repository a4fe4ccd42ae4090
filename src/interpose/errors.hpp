#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "exchange/agreement.hpp"

namespace unisono::interpose {

/// The MPI error class for an errno of file access.
int error_class_of(int code);

/// An error code of that class whose string is `message`. Local; MPI wants codes to live until the
/// end, so there is one per class and its string is that of the latest error.
int error_code(int error_class, std::string const& message);

/// What happened, for people: call, offset, rank and errno.
std::string describe(Verdict const& verdict);

/// MPI_Error_string: Unisono's own text for Unisono's codes.
int error_string(int code, char* text, int* length);

/// Calls the file's error handler with `code`, once, and returns it. MPI_SUCCESS calls nothing.
int raise(MPI_File file, int code);

/// Makes the status say that `bytes` bytes were moved, whatever type the program asks about.
void set_count(MPI_Status* status, std::uint64_t bytes);

}  // namespace unisono::interpose
