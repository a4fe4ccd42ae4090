#pragma once

#include <string>
#include <string_view>

namespace unisono {

/// What people call a process: the name of the file that it runs, or that of the script where it
/// runs Python or Julia. `words`: as in /proc/PID/cmdline, each with a zero byte behind it.
std::string program_name(std::string_view executable, std::string_view words);

/// That of this process.
std::string own_program_name();

}  // namespace unisono
