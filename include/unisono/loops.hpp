#pragma once

#include <cstdint>
#include <vector>

#include "unisono/view.hpp"

namespace unisono {

/// A regular access as nested loops over equal pieces: piece (i, j, ...) is at
/// first + i * loops[0].stride + j * loops[1].stride + ... ; innermost loop first.
struct Loops {
    struct Loop {
        std::uint64_t count = 0;
        std::uint64_t stride = 0;  ///< bytes
        friend bool operator==(Loop const&, Loop const&) = default;
    };

    std::uint64_t piece_bytes = 0;  ///< 0: the access is not regular
    std::vector<Loop> loops;        ///< strides ascend

    [[nodiscard]] bool empty() const { return piece_bytes == 0; }
    friend bool operator==(Loops const&, Loops const&) = default;
};

/// What `positions` touches as loops, without the place of its first byte; empty when that is not
/// regular (an index list, an interval that begins or ends within a loop). O(depth).
Loops loops_of(Tiling const& tiling, Positions positions);

}  // namespace unisono
