#pragma once

#include <string>
#include <vector>

#include "report/report.hpp"
#include "unisono/options.hpp"

namespace unisono::interpose {

/// Whether there is a standard error. Else what is opened first gets its number, and all that is
/// said: a pipe of the MPI library's, if the process began without one, or the program's file.
bool has_standard_error();

/// To be called before the first file is opened.
void note_standard_error(bool process_began_with_it);

/// Lines for standard error, each once per process. Thread-safe.
void print_once(std::vector<std::string> const& messages);

/// Appends a file's report where the user wants it. Where that cannot be written it goes to
/// standard error, and one line says why.
void print_report(Options const& options, FileReport const& report);

}  // namespace unisono::interpose
