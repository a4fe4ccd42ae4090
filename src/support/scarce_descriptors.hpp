#pragma once

#include <cstddef>

namespace unisono {

/// Takes a descriptor of our own to numbers that the program cannot reach, where it has come to the
/// upper half of those that the program may have (`ulimit -n`): so it may open as many files as
/// without us. Its limit becomes four times as high for that. Returns the descriptor, or -1 where
/// the limit may not be raised: then it is closed, errno EMFILE. Thread-safe. Cost: none, or three
/// system calls.
int out_of_the_way(int descriptor);

/// So many more can be made now, where the program has used up its limit: that becomes four times
/// as high, if it may be raised. Thread-safe. Cost: two system calls for each.
void make_room_for_descriptors(std::size_t count);

}  // namespace unisono
