#pragma once

#include <string>

namespace unisono::interpose {

/// The id of the program that this process belongs to: what remember_program() was told last, else
/// what the process finds out itself. Cost the first time: reads a few files of /proc.
/// Thread-safe, as is the other.
std::string own_program();

/// Another process of the program said so: launchers may look different from every node.
void remember_program(std::string id);

}  // namespace unisono::interpose
