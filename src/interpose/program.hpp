#pragma once

#include <string>

#include "report/report.hpp"
#include "select/mpi_library.hpp"

namespace unisono::interpose {

/// The id of the program that this process belongs to: what remember_program() was told last, else
/// what the process finds out itself. Cost the first time: reads a few files of /proc.
/// Thread-safe, as is the other.
std::string own_program();

/// Another process of the program said so: launchers may look different from every node.
void remember_program(std::string id);

/// The one that the program uses.
MpiLibrary mpi_library();

/// This rank's number in MPI_COMM_WORLD, and how many there are; `otherwise` where the program has
/// sessions only.
std::uint32_t rank_of_program(int otherwise);
std::uint32_t ranks_of_program(int otherwise);

/// This rank's program, now. Cost: a few system calls.
ProgramReport program_report();

}  // namespace unisono::interpose
