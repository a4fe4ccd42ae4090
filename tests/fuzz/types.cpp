#include "types.hpp"

#include <algorithm>
#include <concepts>
#include <numeric>
#include <utility>

namespace fuzz {

std::size_t TypeMap::run_at(std::uint64_t position) const {
    auto const after = std::upper_bound(before_.begin(), before_.end(), position);
    return static_cast<std::size_t>(after - before_.begin()) - 1;
}

bool TypeMap::ascending() const {
    for (std::size_t i = 1; i < runs.size(); ++i) {
        if (runs[i].offset < runs[i - 1].offset + static_cast<std::int64_t>(runs[i - 1].bytes)) {
            return false;
        }
    }
    return true;
}

bool TypeMap::disjoint_when_tiled(std::uint64_t tiles) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
    for (std::uint64_t tile = 0; tile < tiles; ++tile) {
        for (auto const& run : runs) {
            auto const begin = run.offset + static_cast<std::int64_t>(tile) * extent();
            pieces.emplace_back(begin, begin + static_cast<std::int64_t>(run.bytes));
        }
    }
    std::sort(pieces.begin(), pieces.end());
    for (std::size_t i = 1; i < pieces.size(); ++i) {
        if (pieces[i].first < pieces[i - 1].second) return false;
    }
    return true;
}

void TypeMap::append(Run run) {
    if (run.bytes == 0) return;
    auto const end = run.offset + static_cast<std::int64_t>(run.bytes);
    true_lower_ = runs.empty() ? run.offset : std::min(true_lower_, run.offset);
    true_upper_ = runs.empty() ? end : std::max(true_upper_, end);
    size_bytes_ += run.bytes;
    if (!runs.empty()) {
        auto& last = runs.back();
        if (last.offset + static_cast<std::int64_t>(last.bytes) == run.offset &&
            last.element_bytes == run.element_bytes) {
            last.bytes += run.bytes;
            return;
        }
    }
    before_.push_back(size_bytes_ - run.bytes);
    runs.push_back(run);
}

void TypeMap::place(TypeMap const& child, std::int64_t offset, std::uint64_t count) {
    if (count == 0) return;
    for (std::uint64_t copy = 0; copy < count; ++copy) {
        auto const shift = offset + static_cast<std::int64_t>(copy) * child.extent();
        for (auto const& run : child.runs) {
            append({run.offset + shift, run.bytes, run.element_bytes});
        }
    }
    auto const last_shift = static_cast<std::int64_t>(count - 1) * child.extent();
    auto const low = offset + child.lower + std::min<std::int64_t>(0, last_shift);
    auto const high = offset + child.upper + std::max<std::int64_t>(0, last_shift);
    lower = bounded_ ? std::min(lower, low) : low;
    upper = bounded_ ? std::max(upper, high) : high;
    bounded_ = true;
}

namespace {

std::string text_of(std::string const& text) { return text; }

std::string text_of(std::integral auto number) { return std::to_string(number); }

template <class T>
std::string text_of(std::vector<T> const& values) {
    std::string text = "[";
    for (auto const& value : values) {
        if (text.size() > 1) text += ",";
        text += std::to_string(value);
    }
    return text + "]";
}

template <class... Parts>
std::string call(std::string name, std::string const& child, Parts const&... parts) {
    name += "(";
    ((name += text_of(parts) + ", "), ...);
    return name + child + ")";
}

/// `construct` makes it of the child's handle, which is freed then: what a program does.
template <class Construct>
TypePtr derived(TypePtr const& child, bool plain, TypeMap map, std::string text,
                Construct construct) {
    auto type = std::make_shared<Type>();
    type->map = std::move(map);
    type->text = std::move(text);
    type->depth = child->depth + 1;
    type->plain = plain && child->plain && type->map.size_bytes() > 0;
    type->same_in_external32 = child->same_in_external32;
    type->make = [child, construct] {
        Datatype const inner(child);
        MPI_Datatype made = MPI_DATATYPE_NULL;
        construct(inner.get(), &made);
        return made;
    };
    return type;
}

TypePtr make_basic(char const* name, MPI_Datatype handle, std::vector<Run> const& runs,
                   std::int64_t extent, bool plain = true, bool same_in_external32 = true) {
    auto type = std::make_shared<Type>();
    for (auto const& run : runs) type->map.append(run);
    type->map.upper = extent;
    type->text = name;
    type->plain = plain;
    type->same_in_external32 = same_in_external32;
    type->predefined = true;
    type->make = [handle] { return handle; };
    return type;
}

std::vector<TypePtr> const& basics() {
    static std::vector<TypePtr> const made = {
        make_basic("BYTE", MPI_BYTE, {{0, 1, 1}}, 1),
        make_basic("CHAR", MPI_CHAR, {{0, 1, 1}}, 1),
        make_basic("SHORT", MPI_SHORT, {{0, 2, 2}}, 2),
        make_basic("INT", MPI_INT, {{0, 4, 4}}, 4),
        make_basic("FLOAT", MPI_FLOAT, {{0, 4, 4}}, 4),
        make_basic("DOUBLE", MPI_DOUBLE, {{0, 8, 8}}, 8),
        make_basic("INT64_T", MPI_INT64_T, {{0, 8, 8}}, 8),
        make_basic("C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, {{0, 16, 16}}, 16),
        make_basic("2INT", MPI_2INT, {{0, 4, 4}, {4, 4, 4}}, 8, false),
        make_basic("FLOAT_INT", MPI_FLOAT_INT, {{0, 4, 4}, {4, 4, 4}}, 8, false),
        make_basic("SHORT_INT", MPI_SHORT_INT, {{0, 2, 2}, {4, 4, 4}}, 8, false, false),
        make_basic("DOUBLE_INT", MPI_DOUBLE_INT, {{0, 8, 8}, {8, 4, 4}}, 16, false, false),
        make_basic("LONG_INT", MPI_LONG_INT, {{0, 8, 8}, {8, 4, 4}}, 16, false, false),
    };
    return made;
}

/// Blocks of equal length, `stride` bytes apart.
TypeMap strided(TypeMap const& child, int count, int length, std::int64_t stride) {
    TypeMap map;
    for (int i = 0; i < count; ++i)
        map.place(child, i * stride, static_cast<std::uint64_t>(length));
    return map;
}

/// Blocks whose displacements count in `unit` bytes.
template <class Displacement>
TypeMap blocks(TypeMap const& child, std::vector<int> const& lengths,
               std::vector<Displacement> const& displacements, std::int64_t unit) {
    TypeMap map;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        map.place(child, displacements[i] * unit, static_cast<std::uint64_t>(lengths[i]));
    return map;
}

template <class Displacement>
TypeMap blocks(TypeMap const& child, int length, std::vector<Displacement> const& displacements,
               std::int64_t unit) {
    return blocks(child, std::vector<int>(displacements.size(), length), displacements, unit);
}

char const* name_of_order(int order) { return order == MPI_ORDER_C ? "C" : "Fortran"; }

/// As MPI counts.
template <class T>
int count_of(std::vector<T> const& values) {
    return static_cast<int>(values.size());
}

/// Appends the elements of an N-dimensional array whose indices are listed per dimension, in the
/// order of the array's memory, and gives the map the bounds of the whole array.
TypeMap select_from_array(std::vector<int> const& sizes, std::vector<std::vector<int>> const& owned,
                          int order, TypeMap const& child) {
    std::size_t const dimensions = sizes.size();
    std::vector<std::size_t> slowest_first(dimensions);
    std::iota(slowest_first.begin(), slowest_first.end(), 0u);
    if (order == MPI_ORDER_FORTRAN) std::reverse(slowest_first.begin(), slowest_first.end());

    std::vector<std::int64_t> starts = {0};
    for (auto const dimension : slowest_first) {
        std::vector<std::int64_t> finer;
        for (auto const start : starts) {
            for (auto const index : owned[dimension]) {
                finer.push_back(start * sizes[dimension] + index);
            }
        }
        starts = std::move(finer);
    }
    TypeMap map;
    for (auto const start : starts) map.place(child, start * child.extent(), 1);
    std::int64_t elements = 1;
    for (auto const size : sizes) elements *= size;
    map.lower = 0;
    map.upper = elements * child.extent();
    return map;
}

std::vector<int> owned_indices(int size, int distribution, int argument, int processes,
                               int coordinate) {
    int block = argument;
    if (distribution == MPI_DISTRIBUTE_NONE) {
        block = size;
        processes = 1;
        coordinate = 0;
    } else if (argument == MPI_DISTRIBUTE_DFLT_DARG) {
        bool const cyclic = distribution == MPI_DISTRIBUTE_CYCLIC;
        block = cyclic ? 1 : (size + processes - 1) / processes;
    }
    std::vector<int> indices;
    for (int i = 0; i < size; ++i) {
        if (i / block % processes == coordinate) indices.push_back(i);
    }
    return indices;
}

/// A complex number is two.
std::uint64_t number_bytes(Run const& run) {
    return run.element_bytes == 16 ? 8 : run.element_bytes;
}

}  // namespace

void swap_numbers(TypeMap const& map, std::vector<std::uint8_t>& packed) {
    auto at = packed.begin();
    while (at != packed.end())
        for (auto const& run : map.runs)
            for (auto const end = at + static_cast<std::ptrdiff_t>(run.bytes); at != end;) {
                auto const next = at + static_cast<std::ptrdiff_t>(number_bytes(run));
                std::reverse(at, next);
                at = next;
            }
}

std::uint64_t whole_numbers(TypeMap const& map, std::uint64_t bytes) {
    if (map.size_bytes() == 0) return 0;
    auto const inside = bytes % map.size_bytes();
    auto const run = map.run_at(inside);
    return bytes - (inside - map.bytes_before(run)) % number_bytes(map.runs[run]);
}

std::size_t basic_count() { return basics().size(); }

TypePtr basic(std::size_t index) { return basics().at(index); }

TypePtr basic_byte() { return basic(0); }

TypePtr contiguous(int count, TypePtr child) {
    return derived(child, true, strided(child->map, 1, count, 0),
                   call("contiguous", child->text, count),
                   [=](auto inner, auto made) { MPI_Type_contiguous(count, inner, made); });
}

TypePtr vector(int count, int block_length, int stride, TypePtr child) {
    return derived(
        child, stride >= block_length,
        strided(child->map, count, block_length, stride * child->map.extent()),
        call("vector", child->text, count, block_length, stride),
        [=](auto inner, auto made) { MPI_Type_vector(count, block_length, stride, inner, made); });
}

TypePtr hvector(int count, int block_length, MPI_Aint stride, TypePtr child) {
    return derived(child, false, strided(child->map, count, block_length, stride),
                   call("hvector", child->text, count, block_length, stride),
                   [=](auto inner, auto made) {
                       MPI_Type_create_hvector(count, block_length, stride, inner, made);
                   });
}

TypePtr indexed(std::vector<int> lengths, std::vector<int> displacements, TypePtr child) {
    return derived(
        child, false, blocks(child->map, lengths, displacements, child->map.extent()),
        call("indexed", child->text, lengths, displacements), [=](auto inner, auto made) {
            MPI_Type_indexed(count_of(lengths), lengths.data(), displacements.data(), inner, made);
        });
}

TypePtr hindexed(std::vector<int> lengths, std::vector<MPI_Aint> displacements, TypePtr child) {
    return derived(child, false, blocks(child->map, lengths, displacements, 1),
                   call("hindexed", child->text, lengths, displacements),
                   [=](auto inner, auto made) {
                       MPI_Type_create_hindexed(count_of(lengths), lengths.data(),
                                                displacements.data(), inner, made);
                   });
}

TypePtr indexed_block(int length, std::vector<int> displacements, TypePtr child) {
    return derived(child, false, blocks(child->map, length, displacements, child->map.extent()),
                   call("indexed_block", child->text, length, displacements),
                   [=](auto inner, auto made) {
                       MPI_Type_create_indexed_block(count_of(displacements), length,
                                                     displacements.data(), inner, made);
                   });
}

TypePtr hindexed_block(int length, std::vector<MPI_Aint> displacements, TypePtr child) {
    return derived(child, false, blocks(child->map, length, displacements, 1),
                   call("hindexed_block", child->text, length, displacements),
                   [=](auto inner, auto made) {
                       MPI_Type_create_hindexed_block(count_of(displacements), length,
                                                      displacements.data(), inner, made);
                   });
}

TypePtr structure(std::vector<int> lengths, std::vector<MPI_Aint> displacements,
                  std::vector<TypePtr> children) {
    auto bare = std::make_shared<Type>();
    std::string names;
    for (std::size_t i = 0; i < children.size(); ++i) {
        bare->map.place(children[i]->map, displacements[i], static_cast<std::uint64_t>(lengths[i]));
        bare->depth = std::max(bare->depth, children[i]->depth + 1);
        bare->same_in_external32 = bare->same_in_external32 && children[i]->same_in_external32;
        names += (i == 0 ? "" : "; ") + children[i]->text;
    }
    bare->text = call("struct", "{" + names + "}", lengths, displacements);
    bare->plain = false;
    bare->make = [lengths, displacements, children] {
        std::vector<MPI_Datatype> inner;
        for (auto const& child : children) inner.push_back(child->make());
        MPI_Datatype made = MPI_DATATYPE_NULL;
        MPI_Type_create_struct(count_of(lengths), lengths.data(), displacements.data(),
                               inner.data(), &made);
        for (std::size_t i = 0; i < children.size(); ++i) {
            if (!children[i]->predefined) MPI_Type_free(&inner[i]);
        }
        return made;
    };
    return resized(bare->map.lower, bare->map.extent(), bare);
}

TypePtr subarray(std::vector<int> sizes, std::vector<int> subsizes, std::vector<int> starts,
                 int order, TypePtr child) {
    std::vector<std::vector<int>> owned(sizes.size());
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        owned[d].resize(static_cast<std::size_t>(subsizes[d]));
        std::iota(owned[d].begin(), owned[d].end(), starts[d]);
    }
    return derived(child, child->predefined, select_from_array(sizes, owned, order, child->map),
                   call("subarray", child->text, sizes, subsizes, starts, name_of_order(order)),
                   [=](auto inner, auto made) {
                       MPI_Type_create_subarray(count_of(sizes), sizes.data(), subsizes.data(),
                                                starts.data(), order, inner, made);
                   });
}

TypePtr darray(int processes, int rank, std::vector<int> sizes, std::vector<int> distributions,
               std::vector<int> arguments, std::vector<int> grid, int order, TypePtr child) {
    std::vector<std::vector<int>> owned(sizes.size());
    int remaining = rank;  // ranks are laid out over the grid in C order, whatever `order` says
    for (std::size_t d = sizes.size(); d-- > 0;) {
        owned[d] =
            owned_indices(sizes[d], distributions[d], arguments[d], grid[d], remaining % grid[d]);
        remaining /= grid[d];
    }
    std::string kinds;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        kinds += distributions[d] == MPI_DISTRIBUTE_NONE    ? 'n'
                 : distributions[d] == MPI_DISTRIBUTE_BLOCK ? 'b'
                                                            : 'c';
        kinds += arguments[d] == MPI_DISTRIBUTE_DFLT_DARG ? "" : std::to_string(arguments[d]);
    }
    return derived(child, false, select_from_array(sizes, owned, order, child->map),
                   call("darray", child->text, std::to_string(rank) + " of " + text_of(grid), sizes,
                        kinds, name_of_order(order)),
                   [=](auto inner, auto made) {
                       MPI_Type_create_darray(processes, rank, count_of(sizes), sizes.data(),
                                              distributions.data(), arguments.data(), grid.data(),
                                              order, inner, made);
                   });
}

TypePtr resized(MPI_Aint lower, MPI_Aint extent, TypePtr child) {
    TypeMap map = child->map;
    map.lower = lower;
    map.upper = lower + extent;
    return derived(
        child, false, std::move(map), call("resized", child->text, lower, extent),
        [=](auto inner, auto made) { MPI_Type_create_resized(inner, lower, extent, made); });
}

TypePtr duplicate(TypePtr child) {
    return derived(child, true, child->map, call("dup", child->text),
                   [](auto inner, auto made) { MPI_Type_dup(inner, made); });
}

}  // namespace fuzz
