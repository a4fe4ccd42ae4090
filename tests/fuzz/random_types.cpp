#include "random_types.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fuzz {

namespace {

/// Lengths and displacements of an indexed type; displacements count in some unit.
struct Blocks {
    std::vector<int> lengths;
    std::vector<std::int64_t> displacements;

    template <class T>
    [[nodiscard]] std::vector<T> displacements_as() const {
        return {displacements.begin(), displacements.end()};
    }
};

/// Grows one random tree. File types keep every offset a multiple of the etype's extent, ascending.
class Grower {
public:
    Grower(Random& random, TypeLimits const& limits, TypePtr etype)
        : random_(random), limits_(limits), etype_(std::move(etype)) {}

    TypePtr grow(unsigned depth) {
        if (depth == 0 || random_.chance(20)) return leaf();
        auto child = grow(depth - 1);
        // An empty type has no bounds that libraries agree on, so only the top of a tree is empty.
        if (child->map.size_bytes() == 0) child = leaf();
        return limits_.plain_only ? construct_plain(child) : construct(child, depth);
    }

private:
    TypePtr leaf() {
        if (etype_) return etype_;
        for (;;) {
            auto type = basic(random_.below(basic_count()));
            if ((type->plain || !limits_.plain_only) &&
                (type->same_in_external32 || !limits_.same_in_external32))
                return type;
        }
    }

    [[nodiscard]] bool for_file() const { return etype_ != nullptr; }
    [[nodiscard]] std::int64_t unit() const { return for_file() ? etype_->map.extent() : 1; }

    /// How many copies of the child the limits allow, at least 1.
    [[nodiscard]] std::uint64_t copies_allowed(TypePtr const& child) const {
        auto const by_runs = limits_.runs / std::max<std::uint64_t>(1, child->map.runs.size());
        auto const by_span = static_cast<std::uint64_t>(
            limits_.span_bytes / std::max<std::int64_t>(1, std::abs(child->map.extent())));
        return std::max<std::uint64_t>(1, std::min(by_runs, by_span));
    }

    int count(std::uint64_t allowed) {
        if (random_.chance(2)) return 0;
        return static_cast<int>(1 + random_.small_below(std::min<std::uint64_t>(allowed, 512)));
    }

    TypePtr construct_plain(TypePtr const& child) {
        auto const allowed = copies_allowed(child);
        if (random_.chance(50)) return contiguous(1 + count(allowed) / 2, child);
        auto const length = 1 + static_cast<int>(random_.small_below(4));
        auto const blocks =
            1 + static_cast<int>(random_.small_below(std::max<std::uint64_t>(1, allowed / 8)));
        return vector(blocks, length, length + static_cast<int>(random_.below(4)), child);
    }

    TypePtr construct(TypePtr const& child, unsigned depth) {
        auto const allowed = copies_allowed(child);
        switch (random_.below(13)) {
            case 0:
                return contiguous(count(allowed), child);
            case 1:
                return make_vector(child, allowed);
            case 2:
                return make_hvector(child, allowed);
            case 3:
                return make_indexed(child, allowed);
            case 4:
                return make_hindexed(child, allowed);
            case 5:
                return make_indexed_block(child, allowed);
            case 6:
                return make_hindexed_block(child, allowed);
            case 7:
                return make_structure(child, depth);
            case 8:
            case 9:
                return make_subarray(child, allowed);
            case 10:
                return make_darray(child, allowed);
            case 11:
                return make_resized(child);
            default:
                return duplicate(child);
        }
    }

    TypePtr make_vector(TypePtr const& child, std::uint64_t allowed) {
        int const length = static_cast<int>(random_.chance(3) ? 0 : 1 + random_.small_below(5));
        int stride = length + static_cast<int>(random_.small_below(8));
        int const blocks = count(allowed / static_cast<std::uint64_t>(std::max(1, stride)));
        // Open MPI 4.1.4 takes a stride of minus the block length for a contiguous type.
        if (!for_file() && stride > length && random_.chance(20)) stride = -stride;
        return vector(blocks, length, stride, child);
    }

    TypePtr make_hvector(TypePtr const& child, std::uint64_t allowed) {
        int const length = static_cast<int>(1 + random_.small_below(4));
        auto const gap = static_cast<std::int64_t>(random_.small_below(64)) * unit();
        MPI_Aint stride = length * child->map.extent() + gap;
        auto const per_block = static_cast<std::uint64_t>(
            std::max<std::int64_t>(1, stride / std::max<std::int64_t>(1, child->map.extent())));
        if (!for_file() && random_.chance(15)) stride = -stride;
        return with_own_bounds(hvector(count(allowed / per_block), length, stride, child));
    }

    /// Random blocks of the child, `step` displacement units per child; in ascending order for
    /// files, in any order and perhaps below zero for memory.
    Blocks random_blocks(std::uint64_t allowed, std::int64_t step, std::int64_t gap_limit,
                         std::int64_t gap_unit, bool same_length) {
        Blocks blocks;
        auto const number = random_.chance(2)
                                ? 0
                                : 1 + random_.small_below(std::min<std::uint64_t>(
                                          std::max<std::uint64_t>(1, allowed / 3), 40));
        int const common = static_cast<int>(1 + random_.small_below(4));
        std::int64_t cursor = random_.chance(50) ? 0 : random_.between(0, gap_limit) * gap_unit;
        if (!for_file() && random_.chance(25)) cursor -= 3 * gap_limit * gap_unit;
        for (std::uint64_t i = 0; i < number; ++i) {
            int const length = same_length ? common : static_cast<int>(random_.small_below(5));
            if (!random_.chance(30)) cursor += random_.between(0, gap_limit) * gap_unit;
            blocks.lengths.push_back(length);
            blocks.displacements.push_back(cursor);
            cursor += length * step;
        }
        if (!for_file() && random_.chance(40)) shuffle(blocks);
        if (!for_file() && random_.chance(5) && number > 1) {
            blocks.displacements[0] = blocks.displacements[1];  // overlap: for writes only
        }
        return blocks;
    }

    void shuffle(Blocks& blocks) {
        for (std::size_t i = blocks.lengths.size(); i > 1; --i) {
            auto const other = random_.below(i);
            std::swap(blocks.lengths[i - 1], blocks.lengths[other]);
            std::swap(blocks.displacements[i - 1], blocks.displacements[other]);
        }
    }

    /// Blocks whose displacements count in extents of the child.
    Blocks element_blocks(std::uint64_t allowed, bool same_length) {
        return random_blocks(allowed, 1, 3, 1, same_length);
    }

    /// Blocks whose displacements count in bytes.
    Blocks byte_blocks(TypePtr const& child, std::uint64_t allowed, bool same_length) {
        return random_blocks(allowed, child->map.extent(), 20, unit(), same_length);
    }

    TypePtr make_indexed(TypePtr const& child, std::uint64_t allowed) {
        auto const blocks = element_blocks(allowed, false);
        return indexed(blocks.lengths, blocks.displacements_as<int>(), child);
    }

    TypePtr make_hindexed(TypePtr const& child, std::uint64_t allowed) {
        auto const blocks = byte_blocks(child, allowed, false);
        return with_own_bounds(
            hindexed(blocks.lengths, blocks.displacements_as<MPI_Aint>(), child));
    }

    TypePtr make_indexed_block(TypePtr const& child, std::uint64_t allowed) {
        auto const blocks = element_blocks(allowed, true);
        auto const length = blocks.lengths.empty() ? 1 : blocks.lengths[0];
        return indexed_block(length, blocks.displacements_as<int>(), child);
    }

    TypePtr make_hindexed_block(TypePtr const& child, std::uint64_t allowed) {
        auto const blocks = byte_blocks(child, allowed, true);
        auto const length = blocks.lengths.empty() ? 1 : blocks.lengths[0];
        return with_own_bounds(hindexed_block(length, blocks.displacements_as<MPI_Aint>(), child));
    }

    /// Libraries may pad a type with odd byte displacements to its elements' alignment or not.
    static TypePtr with_own_bounds(TypePtr const& type) {
        return resized(type->map.lower, type->map.extent(), type);
    }

    TypePtr make_structure(TypePtr const& first, unsigned depth) {
        std::vector<int> lengths;
        std::vector<MPI_Aint> displacements;
        std::vector<TypePtr> children;
        auto const members = 1 + random_.below(4);
        std::int64_t cursor = random_.chance(50) ? 0 : random_.between(0, 20) * unit();
        if (!for_file() && random_.chance(25)) cursor -= 64;
        for (std::uint64_t i = 0; i < members; ++i) {
            auto child = i == 0 ? first : grow(depth - 1);
            if (child->map.size_bytes() == 0) child = leaf();
            int const length = static_cast<int>(random_.small_below(
                1 + std::min<std::uint64_t>(copies_allowed(child) / members, 4)));
            // Start after what is there, also when the child begins below its own origin.
            displacements.push_back(cursor - std::min<std::int64_t>(0, child->map.lower));
            lengths.push_back(length);
            cursor = displacements.back() + child->map.upper +
                     std::max(0, length - 1) * child->map.extent() + random_.between(0, 8) * unit();
            if (for_file()) cursor = round_up_to_unit(cursor);
            children.push_back(std::move(child));
        }
        return structure(lengths, displacements, children);
    }

    [[nodiscard]] std::int64_t round_up_to_unit(std::int64_t offset) const {
        return (offset + unit() - 1) / unit() * unit();
    }

    std::vector<int> array_sizes(std::uint64_t allowed) {
        std::vector<int> sizes;
        auto const dimensions = 1 + random_.below(4);
        std::uint64_t elements = 1;
        for (std::uint64_t d = 0; d < dimensions; ++d) {
            auto const room = std::max<std::uint64_t>(1, allowed / elements);
            auto const size = 1 + random_.below(std::min<std::uint64_t>(room, 9));
            elements *= size;
            sizes.push_back(static_cast<int>(size));
        }
        return sizes;
    }

    int random_order() { return random_.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN; }

    TypePtr make_subarray(TypePtr const& child, std::uint64_t allowed) {
        auto const sizes = array_sizes(allowed);
        std::vector<int> subsizes;
        std::vector<int> starts;
        for (int const size : sizes) {
            subsizes.push_back(static_cast<int>(random_.between(1, size)));
            starts.push_back(static_cast<int>(random_.between(0, size - subsizes.back())));
        }
        return subarray(sizes, subsizes, starts, random_order(), child);
    }

    TypePtr make_darray(TypePtr const& child, std::uint64_t allowed) {
        auto const sizes = array_sizes(allowed);
        std::vector<int> distributions;
        std::vector<int> arguments;
        std::vector<int> grid;
        int processes = 1;
        for (int const size : sizes) {
            auto const kind = random_.below(3);
            auto const wide = processes < 8 && kind != 2;
            grid.push_back(wide ? static_cast<int>(random_.between(1, 3)) : 1);
            processes *= grid.back();
            distributions.push_back(kind == 0   ? MPI_DISTRIBUTE_BLOCK
                                    : kind == 1 ? MPI_DISTRIBUTE_CYCLIC
                                                : MPI_DISTRIBUTE_NONE);
            int const least = kind == 0 ? (size + grid.back() - 1) / grid.back() : 1;
            bool const standard = kind == 2 || random_.chance(40);
            arguments.push_back(standard ? MPI_DISTRIBUTE_DFLT_DARG
                                         : static_cast<int>(random_.between(least, least + 2)));
        }
        int const rank = static_cast<int>(random_.below(static_cast<std::uint64_t>(processes)));
        return darray(processes, rank, sizes, distributions, arguments, grid, random_order(),
                      child);
    }

    TypePtr make_resized(TypePtr const& child) {
        auto const& map = child->map;
        if (for_file()) {
            auto const least = round_up_to_unit(map.true_upper());
            return resized(0, least + random_.between(0, 6) * unit(), child);
        }
        auto const lower = map.true_lower() - random_.between(0, 12);
        if (random_.chance(40) && !map.runs.empty()) {  // copies interleave
            auto const step = static_cast<std::int64_t>(map.runs[0].bytes);
            return resized(lower, step * random_.between(1, 3), child);
        }
        auto const span = map.true_upper() - lower;
        return resized(lower + random_.between(0, 3), span + random_.between(0, 24), child);
    }

    Random& random_;
    TypeLimits limits_;
    TypePtr etype_;
};

bool within_limits(TypeMap const& map, TypeLimits const& limits) {
    return map.runs.size() <= limits.runs && map.true_extent() <= limits.span_bytes &&
           map.extent() <= 2 * limits.span_bytes && map.extent() > 0;
}

bool empty_or_within(TypeMap const& map, TypeLimits const& limits) {
    return map.size_bytes() == 0 || within_limits(map, limits);
}

bool made_of_units(TypeMap const& map, std::int64_t unit) {
    if (map.extent() % unit != 0 || map.lower % unit != 0) return false;
    return std::all_of(map.runs.begin(), map.runs.end(),
                       [](Run const& run) { return run.offset >= 0; });
}

/// Copies of an ascending type that slide into each other's holes: an extent below the span.
TypePtr interleave(Random& random, TypePtr const& type, std::int64_t unit) {
    auto const steps = type->map.true_extent() / unit;
    for (int attempt = 0; attempt < 4; ++attempt) {
        auto tight = resized(type->map.lower,
                             random.between(1, std::max<std::int64_t>(1, steps)) * unit, type);
        if (disjoint(tight->map, 1 << 20)) return tight;
    }
    return type;
}

}  // namespace

bool disjoint(TypeMap const& map, std::uint64_t count) {
    if (map.size_bytes() == 0) return true;
    if (count > 1 && map.extent() <= 0) return false;
    std::uint64_t tiles = 1;
    if (count > 1 && map.extent() < map.true_extent()) {
        tiles = std::min(count, static_cast<std::uint64_t>(map.true_extent() / map.extent()) + 2);
        if (tiles * map.runs.size() > 100000) return false;  // too dear to find out
    }
    return map.disjoint_when_tiled(tiles);
}

TypePtr random_memory_type(Random& random, TypeLimits const& limits) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        auto type = Grower(random, limits, nullptr).grow(random.below(limits.depth + 1));
        if (empty_or_within(type->map, limits)) return type;
    }
    return basic_byte();
}

TypePtr random_etype(Random& random, TypeLimits const& limits) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        auto tight = limits;
        tight.runs = 8;
        tight.span_bytes = std::min<std::int64_t>(64, limits.span_bytes);
        auto const depth = random.chance(60) ? 0 : random.below(3);
        auto type = Grower(random, tight, nullptr).grow(depth);
        auto const& map = type->map;
        // MPICH 4.0.2 aborts in MPI_File_set_view when it is given a pair type with a hole.
        bool const bare_pair =
            type->predefined && map.extent() != static_cast<std::int64_t>(map.size_bytes());
        if (!bare_pair && map.size_bytes() > 0 && within_limits(map, tight) && map.ascending() &&
            map.lower == 0 && map.true_lower() == 0 && map.extent() >= map.true_extent()) {
            return type;
        }
    }
    return basic_byte();
}

TypePtr random_file_type(Random& random, TypePtr const& etype, TypeLimits const& limits) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        auto type = Grower(random, limits, etype).grow(random.below(limits.depth + 1));
        auto const& map = type->map;
        auto const unit = etype->map.extent();
        if (map.size_bytes() == 0 && random.chance(50)) return type;
        if (map.size_bytes() == 0 || !within_limits(map, limits) || !map.ascending() ||
            map.extent() < map.true_extent() || !made_of_units(map, unit)) {
            continue;
        }
        return limits.interleaving_tiles && random.chance(15) ? interleave(random, type, unit)
                                                              : type;
    }
    return etype;
}

std::vector<TypePtr> random_dealt_types(Random& random, std::size_t ranks, std::uint64_t rounds,
                                        bool flaw) {
    auto const unit = random.chance(50) ? 1 : 8;
    std::vector<std::vector<int>> lengths(ranks);
    std::vector<std::vector<MPI_Aint>> offsets(ranks);
    MPI_Aint end = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::vector<std::size_t> left(ranks);
        std::iota(left.begin(), left.end(), 0);
        while (!left.empty()) {
            auto const chosen =
                left.begin() + static_cast<std::ptrdiff_t>(random.below(left.size()));
            lengths[*chosen].push_back(static_cast<int>(random.between(1, 4)) * unit);
            offsets[*chosen].push_back(end);
            end += lengths[*chosen].back();
            left.erase(chosen);
        }
    }
    for (auto i = random.below(rounds); flaw && ranks > 1 && i < rounds; ++i)
        if (lengths[0][i] == lengths[1][i]) {
            offsets[0][i] = offsets[1][i];
            flaw = false;
        }
    std::vector<TypePtr> types;
    for (std::size_t rank = 0; rank < ranks; ++rank)
        types.push_back(resized(
            0, end, hindexed(std::move(lengths[rank]), std::move(offsets[rank]), basic_byte())));
    return types;
}

}  // namespace fuzz
