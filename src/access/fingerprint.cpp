#include "access/fingerprint.hpp"

namespace unisono {

Hash128 fingerprint(Loops const& loops) {
    if (loops.empty()) return {};
    std::vector<std::uint64_t> numbers{loops.piece_bytes};
    for (auto const& [count, stride] : loops.loops) {
        numbers.push_back(count);
        numbers.push_back(stride);
    }
    return hash128(numbers);
}

std::uint64_t fingerprint(Tiling const& tiling, Positions positions) {
    if (positions.empty()) return 0;
    auto const& shape = *tiling.shape;
    std::array const numbers{positions.bytes(),
                             shape.bytes,
                             shape.pieces,
                             shape.alignment,
                             static_cast<std::uint64_t>(shape.high - shape.low),
                             static_cast<std::uint64_t>(tiling.extent)};
    return hash64(numbers);
}

}  // namespace unisono
