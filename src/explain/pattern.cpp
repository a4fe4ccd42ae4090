#include "explain/pattern.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <random>

namespace unisono {
namespace {

constexpr std::uint64_t pieces_unless_said = 8;  // of each rank

std::uint64_t pieces_of_a_rank(PatternSizes const& sizes) {
    assert(sizes.ranks > 0 && sizes.piece_bytes > 0);
    if (sizes.bytes == 0) return pieces_unless_said;
    return std::max<std::uint64_t>(sizes.bytes / sizes.ranks / sizes.piece_bytes, 1);
}

Realm blocks(std::uint64_t count, std::uint64_t block_bytes, std::uint64_t first,
             std::uint64_t every) {
    return {{make_dense(block_bytes), static_cast<std::int64_t>(first),
             static_cast<std::int64_t>(every)},
            {0, count * block_bytes}};
}

// Blocks of all ranks in turn; after each one `spacing - 1` as long that nobody asks for.
std::vector<Realm> in_turn(PatternSizes const& sizes, std::uint64_t spacing) {
    auto const step = sizes.piece_bytes * spacing;
    std::vector<Realm> requests;
    for (std::uint64_t rank = 0; rank < sizes.ranks; ++rank)
        requests.push_back(
            blocks(pieces_of_a_rank(sizes), sizes.piece_bytes, rank * step, sizes.ranks * step));
    return requests;
}

std::vector<Realm> strided(PatternSizes const& sizes) { return in_turn(sizes, 1); }
std::vector<Realm> with_holes(PatternSizes const& sizes) { return in_turn(sizes, 2); }

std::vector<Realm> contiguous(PatternSizes const& sizes) {
    auto const each = pieces_of_a_rank(sizes) * sizes.piece_bytes;
    std::vector<Realm> requests;
    for (std::uint64_t rank = 0; rank < sizes.ranks; ++rank)
        requests.push_back(blocks(1, each, rank * each, each));
    return requests;
}

// Ranks as a grid, as square as can be, the longest axis first.
std::vector<std::uint64_t> grid_of(std::uint64_t ranks, std::size_t axes) {
    std::vector<std::uint64_t> grid(axes, 1);
    std::vector<std::uint64_t> factors;
    for (std::uint64_t factor = 2; ranks > 1; ++factor)
        for (; ranks % factor == 0; ranks /= factor) factors.push_back(factor);
    std::ranges::reverse(factors);
    for (auto const factor : factors) *std::ranges::min_element(grid) *= factor;
    std::ranges::sort(grid, std::greater{});
    return grid;
}

/// One rank's block of an array, slowest axis first.
struct Block {
    std::vector<std::uint64_t> sizes, subsizes, starts;
};

Realm subarray(Block const& block, std::uint64_t element_bytes) {
    auto const last = block.sizes.size() - 1;
    auto shape = make_dense(block.subsizes[last] * element_bytes);
    auto origin = block.starts[last] * element_bytes;
    auto stride = block.sizes[last] * element_bytes;
    for (auto axis = last; axis-- > 0; stride *= block.sizes[axis]) {
        shape = make_repeat(block.subsizes[axis], static_cast<std::int64_t>(stride), shape);
        origin += block.starts[axis] * stride;
    }
    return {{shape, static_cast<std::int64_t>(origin), static_cast<std::int64_t>(stride)},
            {0, shape->bytes}};
}

// `side` elements a side and rank, of which neighbours share `overlap`. `fastest_cut_most`: as
// lattice codes have it, whose fastest axis comes first.
std::vector<Realm> arrays(PatternSizes const& sizes, std::size_t axes,
                          std::uint64_t overlap_of_side, bool fastest_cut_most) {
    auto const elements = sizes.bytes == 0 ? std::pow(pieces_unless_said, axes)
                                           : static_cast<double>(sizes.bytes) / sizes.ranks /
                                                 static_cast<double>(sizes.piece_bytes);
    auto const side = std::max<std::uint64_t>(
        static_cast<std::uint64_t>(std::pow(elements, 1.0 / static_cast<double>(axes)) + 1e-9), 1);
    auto const step = side - (overlap_of_side == 0 ? 0 : side / overlap_of_side);
    auto grid = grid_of(sizes.ranks, axes);
    if (fastest_cut_most) std::ranges::reverse(grid);
    std::vector<Realm> requests;
    for (std::uint64_t rank = 0; rank < sizes.ranks; ++rank) {
        Block block{std::vector(axes, side), std::vector(axes, side), std::vector(axes, side)};
        auto rest = rank;
        for (auto axis = axes; axis-- > 0; rest /= grid[axis]) {
            block.sizes[axis] = (grid[axis] - 1) * step + side;
            block.starts[axis] = rest % grid[axis] * step;
        }
        requests.push_back(subarray(block, sizes.piece_bytes));
    }
    return requests;
}

std::vector<Realm> tile(PatternSizes const& sizes) { return arrays(sizes, 2, 8, false); }
std::vector<Realm> block_3d(PatternSizes const& sizes) { return arrays(sizes, 3, 0, false); }
std::vector<Realm> lattice(PatternSizes const& sizes) { return arrays(sizes, 4, 0, true); }

// Extents around the piece's size, end to end in the file: each round gives every rank one, in an
// order of its own.
std::vector<Realm> irregular(PatternSizes const& sizes) {
    std::mt19937_64 dice{1};
    std::vector<std::vector<std::int64_t>> offsets(sizes.ranks);
    std::vector<std::vector<std::uint64_t>> lengths(sizes.ranks);
    std::vector<std::uint32_t> order(sizes.ranks);
    for (std::uint32_t rank = 0; rank < sizes.ranks; ++rank) order[rank] = rank;
    std::int64_t end = 0;
    for (auto round = pieces_of_a_rank(sizes); round > 0; --round) {
        std::ranges::shuffle(order, dice);
        for (auto const rank : order) {
            auto const half = sizes.piece_bytes / 2;
            auto const bytes = sizes.piece_bytes - half + dice() % (2 * half + 1);
            offsets[rank].push_back(end);
            lengths[rank].push_back(bytes);
            end += static_cast<std::int64_t>(bytes);
        }
    }
    std::vector<Realm> requests;
    for (std::uint32_t rank = 0; rank < sizes.ranks; ++rank) {
        auto const shape = make_blocks(offsets[rank], lengths[rank]);
        requests.push_back({{shape, 0, end}, {0, shape->bytes}});
    }
    return requests;
}

constexpr std::array patterns{
    Pattern{"contiguous", "one block of each rank, in rank order", 4096, contiguous},
    Pattern{"strided", "blocks of all ranks in turn", 4096, strided},
    Pattern{"hpio", "the same, each with a hole as long behind it", 1024, with_holes},
    Pattern{"tile", "2-D tiles that overlap by an eighth of their side", 32, tile},
    Pattern{"block-3d", "3-D blocks of a cube", 4, block_3d},
    Pattern{"lattice", "4-D lattice, the fastest axis cut most", 64, lattice},
    Pattern{"irregular", "extents of half to one and a half times a size, shuffled", 36, irregular},
};

}  // namespace

std::span<Pattern const> all_patterns() { return patterns; }

Pattern const* find_pattern(std::string_view name) {
    auto const found = std::ranges::find(patterns, name, &Pattern::name);
    return found == patterns.end() ? nullptr : &*found;
}

}  // namespace unisono
