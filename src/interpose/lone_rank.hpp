#pragma once

#include <string_view>

#include "unisono/options.hpp"

namespace unisono::interpose {

/// Ends a program that a launcher started as several processes, where MPI has put each of them
/// alone into MPI_COMM_WORLD: the launcher is another MPI's, and each process would write the whole
/// of `path` as rank 0. One line says so. Nothing happens with UNISONO_ALLOW_LONE_RANKS, or where a
/// program has sessions only. Local, no communication; to be called before a file is opened.
void refuse_lone_rank(std::string_view path, Options const& options);

}  // namespace unisono::interpose
