#pragma once

#include <cstdint>

#include "exchange/call_note.hpp"
#include "interpose/entry_points.h"

namespace unisono::interpose {

/// "MPI_File_write_all". Any number of an entry point.
char const* operation_name(std::uint16_t operation);

/// The tag of a call on a file. Data calls of one kind and direction go together whether offsets
/// are explicit, counts large or calls split, whatever MPI says of the last: Unisono does them
/// alike.
CallTag call_tag(std::uint32_t file, std::uint16_t operation);

/// The end call of a split one is of the same name as its begin call, as MPI wants it.
bool is_end_of(std::uint16_t begin, std::uint16_t end);

/// After it a rank comes to no other call on the file.
bool is_last_call(std::uint16_t operation);

}  // namespace unisono::interpose
