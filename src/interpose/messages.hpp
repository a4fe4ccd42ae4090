#pragma once

#include <string>
#include <vector>

#include "report/report.hpp"
#include "unisono/options.hpp"

namespace unisono::interpose {

/// Lines for standard error, each once per process. Thread-safe.
void print_once(std::vector<std::string> const& messages);

/// Appends a file's report where the user wants it. Where that cannot be written it goes to
/// standard error, and one line says why.
void print_report(Options const& options, FileReport const& report);

}  // namespace unisono::interpose
