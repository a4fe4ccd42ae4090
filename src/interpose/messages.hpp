#pragma once

#include <string>
#include <vector>

namespace unisono::interpose {

/// Lines for standard error, each once per process. Thread-safe.
void print_once(std::vector<std::string> const& messages);

}  // namespace unisono::interpose
