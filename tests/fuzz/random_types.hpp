#pragma once

#include "random.hpp"
#include "types.hpp"

namespace fuzz {

/// What the trees of datatypes may look like.
struct TypeLimits {
    unsigned depth = 3;
    std::uint64_t runs = 1024;        ///< per type
    std::int64_t span_bytes = 8192;   ///< per type, from its first to its last byte
    bool plain_only = false;          ///< only what every MPI library is known to get right
    bool same_in_external32 = false;  ///< only what is
    bool interleaving_tiles = false;  ///< file types may have an extent below their span
};

/// True when `count` copies of the type, an extent apart, do not overlap.
bool disjoint(TypeMap const& map, std::uint64_t count);

/// A type for a buffer in memory: any order of pieces, negative offsets, odd extents. Its data may
/// overlap, which MPI allows where it is only read: test with disjoint(). May be empty.
TypePtr random_memory_type(Random& random, TypeLimits const& limits);

/// An elementary type: its first data byte is at 0, its pieces ascend, copies do not overlap.
TypePtr random_etype(Random& random, TypeLimits const& limits);

/// A file type made of `etype`: its pieces ascend, and so do those of its copies unless
/// `interleaving_tiles`; copies never overlap. May be empty.
TypePtr random_file_type(Random& random, TypePtr const& etype, TypeLimits const& limits);

/// A file type for each of some ranks: short pieces of all of them, end to end in any order, one of
/// each rank a round. With `flaw` one of them lies upon another rank's of its length.
std::vector<TypePtr> random_dealt_types(Random& random, std::size_t ranks, std::uint64_t rounds,
                                        bool flaw);

}  // namespace fuzz
