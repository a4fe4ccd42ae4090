#pragma once

#include <string>
#include <vector>

#include "report/report.hpp"
#include "unisono/options.hpp"

namespace unisono::interpose {

/// Whether there was a standard error when this was asked first: before the first file is opened,
/// which gets its number else, and whose bytes all that is said would be from then on.
bool has_standard_error();

/// Lines for standard error, each once per process. Thread-safe.
void print_once(std::vector<std::string> const& messages);

/// Appends a file's report where the user wants it. Where that cannot be written it goes to
/// standard error, and one line says why.
void print_report(Options const& options, FileReport const& report);

}  // namespace unisono::interpose
