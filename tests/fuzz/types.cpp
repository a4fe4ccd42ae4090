#include "types.hpp"

#include <algorithm>
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

template <class T>
std::string list(std::vector<T> const& values) {
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
    ((name += parts, name += ", "), ...);
    return name + child + ")";
}

/// Makes the child, hands it to `construct`, frees it: what a program does.
template <class Construct>
std::function<MPI_Datatype()> from_child(TypePtr child, Construct construct) {
    return [child, construct] {
        Datatype const inner(child);
        MPI_Datatype made = MPI_DATATYPE_NULL;
        construct(inner.get(), &made);
        return made;
    };
}

TypePtr finish(TypeMap map, std::string text, TypePtr const& child, bool plain,
               std::function<MPI_Datatype()> make) {
    auto type = std::make_shared<Type>();
    type->map = std::move(map);
    type->text = std::move(text);
    type->depth = child->depth + 1;
    type->plain = plain && child->plain && type->map.size_bytes() > 0;
    type->same_in_external32 = child->same_in_external32;
    type->make = std::move(make);
    return type;
}

struct Basic {
    char const* name;
    MPI_Datatype handle;
    std::vector<Run> runs;
    std::int64_t extent;
    bool plain;
    bool same_in_external32 = true;
};

std::vector<Basic> const& basics() {
    static std::vector<Basic> const table = {
        {"BYTE", MPI_BYTE, {{0, 1, 1}}, 1, true},
        {"CHAR", MPI_CHAR, {{0, 1, 1}}, 1, true},
        {"SHORT", MPI_SHORT, {{0, 2, 2}}, 2, true},
        {"INT", MPI_INT, {{0, 4, 4}}, 4, true},
        {"FLOAT", MPI_FLOAT, {{0, 4, 4}}, 4, true},
        {"DOUBLE", MPI_DOUBLE, {{0, 8, 8}}, 8, true},
        {"INT64_T", MPI_INT64_T, {{0, 8, 8}}, 8, true},
        {"C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, {{0, 16, 16}}, 16, true},
        {"2INT", MPI_2INT, {{0, 4, 4}, {4, 4, 4}}, 8, false},
        {"FLOAT_INT", MPI_FLOAT_INT, {{0, 4, 4}, {4, 4, 4}}, 8, false},
        {"SHORT_INT", MPI_SHORT_INT, {{0, 2, 2}, {4, 4, 4}}, 8, false, false},
        {"DOUBLE_INT", MPI_DOUBLE_INT, {{0, 8, 8}, {8, 4, 4}}, 16, false, false},
        {"LONG_INT", MPI_LONG_INT, {{0, 8, 8}, {8, 4, 4}}, 16, false, false},
    };
    return table;
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

}  // namespace

namespace {

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

namespace {

TypePtr make_basic(Basic const& entry) {
    auto type = std::make_shared<Type>();
    for (auto const& run : entry.runs) type->map.append(run);
    type->map.upper = entry.extent;
    type->text = entry.name;
    type->plain = entry.plain;
    type->same_in_external32 = entry.same_in_external32;
    type->predefined = true;
    type->make = [handle = entry.handle] { return handle; };
    return type;
}

}  // namespace

TypePtr basic(std::size_t index) {
    static std::vector<TypePtr> const made = [] {
        std::vector<TypePtr> types;
        for (auto const& entry : basics()) types.push_back(make_basic(entry));
        return types;
    }();
    return made.at(index);
}

TypePtr basic_byte() { return basic(0); }

TypePtr contiguous(int count, TypePtr child) {
    TypeMap map;
    map.place(child->map, 0, static_cast<std::uint64_t>(count));
    return finish(std::move(map), call("contiguous", child->text, std::to_string(count)), child,
                  true, from_child(child, [count](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_contiguous(count, inner, made);
                  }));
}

TypePtr vector(int count, int block_length, int stride, TypePtr child) {
    TypeMap map;
    for (int i = 0; i < count; ++i) {
        map.place(child->map, std::int64_t{i} * stride * child->map.extent(),
                  static_cast<std::uint64_t>(block_length));
    }
    auto text = call("vector", child->text, std::to_string(count), std::to_string(block_length),
                     std::to_string(stride));
    return finish(std::move(map), std::move(text), child, stride >= block_length,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_vector(count, block_length, stride, inner, made);
                  }));
}

TypePtr hvector(int count, int block_length, MPI_Aint stride, TypePtr child) {
    TypeMap map;
    for (int i = 0; i < count; ++i) {
        map.place(child->map, i * stride, static_cast<std::uint64_t>(block_length));
    }
    auto text = call("hvector", child->text, std::to_string(count), std::to_string(block_length),
                     std::to_string(stride));
    return finish(std::move(map), std::move(text), child, false,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_create_hvector(count, block_length, stride, inner, made);
                  }));
}

TypePtr indexed(std::vector<int> lengths, std::vector<int> displacements, TypePtr child) {
    TypeMap map;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        map.place(child->map, displacements[i] * child->map.extent(),
                  static_cast<std::uint64_t>(lengths[i]));
    }
    auto text = call("indexed", child->text, list(lengths), list(displacements));
    return finish(std::move(map), std::move(text), child, false,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(),
                                       displacements.data(), inner, made);
                  }));
}

TypePtr hindexed(std::vector<int> lengths, std::vector<MPI_Aint> displacements, TypePtr child) {
    TypeMap map;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        map.place(child->map, displacements[i], static_cast<std::uint64_t>(lengths[i]));
    }
    auto text = call("hindexed", child->text, list(lengths), list(displacements));
    return finish(std::move(map), std::move(text), child, false,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                                               displacements.data(), inner, made);
                  }));
}

TypePtr indexed_block(int length, std::vector<int> displacements, TypePtr child) {
    TypeMap map;
    for (auto const displacement : displacements) {
        map.place(child->map, displacement * child->map.extent(),
                  static_cast<std::uint64_t>(length));
    }
    auto text = call("indexed_block", child->text, std::to_string(length), list(displacements));
    return finish(std::move(map), std::move(text), child, false,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_create_indexed_block(static_cast<int>(displacements.size()), length,
                                                    displacements.data(), inner, made);
                  }));
}

TypePtr hindexed_block(int length, std::vector<MPI_Aint> displacements, TypePtr child) {
    TypeMap map;
    for (auto const displacement : displacements) {
        map.place(child->map, displacement, static_cast<std::uint64_t>(length));
    }
    auto text = call("hindexed_block", child->text, std::to_string(length), list(displacements));
    return finish(std::move(map), std::move(text), child, false,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_create_hindexed_block(static_cast<int>(displacements.size()), length,
                                                     displacements.data(), inner, made);
                  }));
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
    bare->text = call("struct", "{" + names + "}", list(lengths), list(displacements));
    bare->plain = false;
    bare->make = [lengths, displacements, children] {
        std::vector<MPI_Datatype> inner;
        for (auto const& child : children) inner.push_back(child->make());
        MPI_Datatype made = MPI_DATATYPE_NULL;
        MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(),
                               displacements.data(), inner.data(), &made);
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
    auto map = select_from_array(sizes, owned, order, child->map);
    auto text = call("subarray", child->text, list(sizes), list(subsizes), list(starts),
                     std::string(order == MPI_ORDER_C ? "C" : "Fortran"));
    return finish(std::move(map), std::move(text), child, child->predefined,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(),
                                               subsizes.data(), starts.data(), order, inner, made);
                  }));
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
    auto map = select_from_array(sizes, owned, order, child->map);
    std::string kinds;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        kinds += distributions[d] == MPI_DISTRIBUTE_NONE    ? 'n'
                 : distributions[d] == MPI_DISTRIBUTE_BLOCK ? 'b'
                                                            : 'c';
        kinds += arguments[d] == MPI_DISTRIBUTE_DFLT_DARG ? "" : std::to_string(arguments[d]);
    }
    auto text = call("darray", child->text, std::to_string(rank) + " of " + list(grid), list(sizes),
                     kinds, std::string(order == MPI_ORDER_C ? "C" : "Fortran"));
    return finish(std::move(map), std::move(text), child, false,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_create_darray(processes, rank, static_cast<int>(sizes.size()),
                                             sizes.data(), distributions.data(), arguments.data(),
                                             grid.data(), order, inner, made);
                  }));
}

TypePtr resized(MPI_Aint lower, MPI_Aint extent, TypePtr child) {
    TypeMap map = child->map;
    map.lower = lower;
    map.upper = lower + extent;
    auto text = call("resized", child->text, std::to_string(lower), std::to_string(extent));
    return finish(std::move(map), std::move(text), child, false,
                  from_child(child, [=](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_create_resized(inner, lower, extent, made);
                  }));
}

TypePtr duplicate(TypePtr child) {
    return finish(child->map, call("dup", child->text), child, true,
                  from_child(child, [](MPI_Datatype inner, MPI_Datatype* made) {
                      MPI_Type_dup(inner, made);
                  }));
}

}  // namespace fuzz
