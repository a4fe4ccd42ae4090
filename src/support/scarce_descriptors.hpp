#pragma once

namespace unisono {

/// Takes a descriptor of our own to numbers that the program cannot reach, where it has come to the
/// upper half of those that the program may have (`ulimit -n`): so it may open as many files as
/// without us. Its limit becomes four times as high for that. Returns the descriptor, or -1 where
/// the limit may not be raised: then it is closed, errno EMFILE. Thread-safe. Cost: none, or three
/// system calls.
int out_of_the_way(int descriptor);

}  // namespace unisono
