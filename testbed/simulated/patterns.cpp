#include "simulated/patterns.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace unisono::simulated {
namespace {

PatternCall whole(ShapePtr const& shape, std::int64_t begin = 0) {
    return {.view = {shape, begin, shape->high}, .bytes = shape->bytes};
}

// Blocks of all ranks in turn.
template <std::uint64_t block_bytes>
std::vector<PatternCall> strided(std::uint32_t rank, std::uint32_t ranks,
                                 std::uint64_t bytes_per_rank) {
    auto const blocks = std::max<std::uint64_t>(bytes_per_rank / block_bytes, 1);
    return {whole(make_repeat(blocks, static_cast<std::int64_t>(block_bytes * ranks),
                              make_dense(block_bytes)),
                  static_cast<std::int64_t>(block_bytes * rank))};
}

// Factors as equal as can be, the largest first, as MPI_Dims_create's.
std::vector<std::uint64_t> factors_of(std::uint64_t count, std::size_t dimensions) {
    std::vector<std::uint64_t> factors(dimensions, 1);
    for (auto prime = std::uint64_t{2}; count > 1; ++prime)
        for (; count % prime == 0; count /= prime) *std::ranges::min_element(factors) *= prime;
    std::ranges::sort(factors, std::greater{});
    return factors;
}

// A block of an array with as many elements along each axis; the last axis is fastest.
template <std::size_t dimensions, std::uint64_t element_bytes>
std::vector<PatternCall> block(std::uint32_t rank, std::uint32_t ranks,
                               std::uint64_t bytes_per_rank) {
    std::uint64_t edge = 1;
    auto const volume = [](std::uint64_t side) {
        auto all = element_bytes;
        for (std::size_t axis = 0; axis < dimensions; ++axis) all *= side;
        return all;
    };
    while (volume(edge + 1) <= bytes_per_rank) ++edge;
    auto const grid = factors_of(ranks, dimensions);
    auto shape = make_dense(edge * element_bytes);
    auto stride = element_bytes;
    std::uint64_t begin = 0;
    std::uint64_t place = rank;
    for (auto axis = dimensions; axis-- > 0;) {
        if (axis + 1 < dimensions)
            shape = make_repeat(edge, static_cast<std::int64_t>(stride), shape);
        begin += place % grid[axis] * edge * stride;
        place /= grid[axis];
        stride *= edge * grid[axis];
    }
    return {whole(shape, static_cast<std::int64_t>(begin))};
}

// Pieces of 36 bytes; each round deals one to every rank, in an order of its own.
std::vector<PatternCall> irregular(std::uint32_t rank, std::uint32_t ranks,
                                   std::uint64_t bytes_per_rank) {
    constexpr std::uint64_t piece_bytes = 36;
    std::vector<std::int64_t> offsets;
    std::uint64_t random = 1;
    for (std::uint64_t round = 0; round < std::max<std::uint64_t>(bytes_per_rank / piece_bytes, 1);
         ++round) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        auto factor = (random >> 33) % ranks | 1;
        while (std::gcd(factor, std::uint64_t{ranks}) != 1) factor += 2;
        auto const place = (rank * factor + (random >> 11)) % ranks;
        offsets.push_back(static_cast<std::int64_t>((round * ranks + place) * piece_bytes));
    }
    std::vector<std::uint64_t> const lengths(offsets.size(), piece_bytes);
    return {whole(make_blocks(offsets, lengths))};
}

// IO500's: one record a call.
std::vector<PatternCall> ior_hard(std::uint32_t rank, std::uint32_t ranks,
                                  std::uint64_t bytes_per_rank) {
    constexpr std::uint64_t record_bytes = 47'008;
    std::vector<PatternCall> calls;
    for (std::uint64_t call = 0; call < std::max<std::uint64_t>(bytes_per_rank / record_bytes, 1);
         ++call)
        calls.push_back(whole(make_dense(record_bytes),
                              static_cast<std::int64_t>((call * ranks + rank) * record_bytes)));
    return calls;
}

}  // namespace

std::vector<Pattern> const& all_patterns() {
    static std::vector<Pattern> const patterns{
        {"strided-4k", "blocks of 4 KiB in turn", strided<4096>},
        {"block-3d", "blocks of a cube of doubles", block<3, 8>},
        {"block-4d", "blocks of a 4-D lattice with sites of 64 bytes", block<4, 64>},
        {"irregular", "pieces of 36 bytes, dealt in an order that changes", irregular},
        {"ior-hard", "records of 47,008 bytes in turn, a call each", ior_hard},
    };
    return patterns;
}

Pattern const& pattern_named(std::string const& name) {
    std::string valid;
    for (auto const& pattern : all_patterns()) {
        if (pattern.name == name) return pattern;
        valid += (valid.empty() ? "" : ", ") + std::string{pattern.name};
    }
    throw std::invalid_argument{"no pattern " + name + "; there are " + valid};
}

}  // namespace unisono::simulated
