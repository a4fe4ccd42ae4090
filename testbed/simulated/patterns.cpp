#include "simulated/patterns.hpp"

#include <algorithm>
#include <stdexcept>

#include "explain/pattern.hpp"

namespace unisono::simulated {

std::vector<ScalePattern> const& scale_patterns() {
    static std::vector<ScalePattern> const patterns{
        {"strided-4k", "strided", 4096},
        {"block-3d", "block-3d", 8},
        {"block-4d", "lattice", 64},
        {"irregular", "irregular", 36},
        {"ior-hard", "contiguous", 47'008, true},  // as in IO500
    };
    return patterns;
}

std::vector<ScaleCalls> calls_of(std::string const& name, std::uint32_t ranks,
                                 std::uint64_t bytes_per_rank) {
    std::string valid;
    for (auto const& pattern : scale_patterns()) {
        valid += (valid.empty() ? "" : ", ") + std::string{pattern.name};
        if (pattern.name != name) continue;
        auto const piece_bytes = pattern.piece_bytes;
        auto const calls =
            pattern.a_call_a_piece ? std::max<std::uint64_t>(bytes_per_rank / piece_bytes, 1) : 1;
        auto const bytes = ranks * (pattern.a_call_a_piece ? piece_bytes : bytes_per_rank);
        std::vector<ScaleCalls> all;
        for (auto const& realm : find_pattern(pattern.shape)->requests({ranks, piece_bytes, bytes}))
            all.push_back({realm, calls, bytes});
        return all;
    }
    throw std::invalid_argument{"no pattern " + name + "; there are " + valid};
}

}  // namespace unisono::simulated
