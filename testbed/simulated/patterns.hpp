#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/realm.hpp"

namespace unisono::simulated {

/// Who asks for which bytes in collective calls one after the other; all ranks together for a file
/// without holes. Made of those of `unisono explain`.
struct ScalePattern {
    std::string_view name;
    std::string_view shape;       ///< of all_patterns() in explain/pattern.hpp
    std::uint64_t piece_bytes;    ///< or of an element of an array
    bool a_call_a_piece = false;  ///< each piece is a call's; else one call has them all
};

/// One rank's part of the calls, `step` bytes further in the file each time, or where it is
/// `dealt`.
struct ScaleCalls {
    Realm first;
    std::uint64_t calls = 1;
    std::uint64_t step = 0;
    std::vector<std::uint64_t> dealt;  ///< by call, how far; empty: in steps

    [[nodiscard]] std::uint64_t shift_of(std::uint64_t call) const {
        return dealt.empty() ? call * step : dealt[call];
    }
};

std::vector<ScalePattern> const& scale_patterns();

/// By rank; each has about `bytes_per_rank` bytes in all calls. Throws std::invalid_argument, which
/// names the valid ones, where there is none of that name. Cost: O(ranks), or O(pieces of all)
/// where they are irregular.
std::vector<ScaleCalls> calls_of(std::string const& name, std::uint32_t ranks,
                                 std::uint64_t bytes_per_rank);

}  // namespace unisono::simulated
