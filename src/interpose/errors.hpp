#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "exchange/agreement.hpp"

namespace unisono::interpose {

class File;

/// The MPI error class for an errno of file access.
int error_class_of(int code);

/// An error code of that class whose string is `message`, until 16 more of the class have come: MPI
/// wants codes to live until the end, so there are so many. Local.
int error_code(int error_class, std::string const& message);

/// An errno, for people.
std::string describe_errno(int code);

/// What happened, for people: call, offset, rank and errno.
std::string describe(Verdict const& verdict);

/// MPI_Error_string: Unisono's own text for Unisono's codes.
int Error_string(int code, char* text, int* length);

/// Calls the file's error handler with `code`, once, and returns it. MPI_SUCCESS calls nothing.
int raise(MPI_File file, int code);

/// A call on a file failed, on all ranks and for the same reason: tells the program, and the report
/// where the program ends now. Returns the code.
int fail(File& file, int error_class, char const* call, std::string const& why);
/// The same for an outcome that all ranks have agreed on; MPI_SUCCESS if it is one.
int raise(File& file, Verdict const& verdict, char const* call);

/// The file's error handler is one of MPI's own that end the program.
bool handler_ends_program(MPI_File file);

/// Makes the status say that `bytes` bytes were moved, whatever type the program asks about.
void set_count(MPI_Status* status, std::uint64_t bytes);
/// That a status says were moved.
std::uint64_t bytes_of(MPI_Status const& status);

}  // namespace unisono::interpose
