#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/team.hpp"
#include "strategies/scene.hpp"

namespace unisono {

/// What one rank has asked the storage for.
struct Accesses {
    std::uint64_t lists = 0;
    std::uint64_t extents = 0;  ///< contiguous in the file, within a list
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> servers;  ///< that hold them, ascending; empty: layout not known
};

/// What one strategy does about the call of a scene. Counted, by having the executor do it with the
/// scene's ranks as threads, and a storage that only counts.
struct Explained {
    std::string_view strategy;  ///< that did it
    std::string_view why;       ///< it was chosen
    std::string refusal;        ///< why the one that was asked for could not
    bool native = false;        ///< the MPI library's affair: nothing below is known
    Plan plan;
    std::vector<Realm> realms;  ///< by aggregator: the file bytes that it owns
    std::uint64_t rounds = 0;
    Traffic traffic;  ///< messages of all ranks; the rest of one rank
    std::vector<Accesses> by_rank;
    /// Bytes of the ranks' requests, by whose realm they are in.
    struct Way {
        std::uint64_t own = 0;      ///< of the aggregator itself, or of a rank that goes by itself
        std::uint64_t on_node = 0;  ///< of another rank of its node
        std::uint64_t between_nodes = 0;
    } way;
};

/// `strategy`: one's name, or "auto" for what the rule chooses. The scene's data are made in
/// memory. Cost: that of the call, without the storage, on as many threads as ranks.
Explained explain(Scene const& scene, std::string_view strategy);

/// Of each of `count` columns of `column_bytes` from `begin` on, how many of the request's bytes
/// lie there and in the realm.
std::vector<std::uint64_t> bytes_by_column(Realm const& request, Realm const& realm,
                                           std::uint64_t begin, std::uint64_t column_bytes,
                                           std::size_t count);

}  // namespace unisono
