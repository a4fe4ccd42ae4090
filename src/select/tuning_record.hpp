#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "select/mpi_library.hpp"
#include "select/score.hpp"
#include "select/signature.hpp"

namespace unisono {

/// What else speeds depend on.
struct TuningContext {
    std::string machine;      ///< processor and cores of rank 0's node
    std::string software;     ///< Unisono and the MPI library, with versions
    std::string storage_key;  ///< file system, layout, and hints that matter

    auto operator<=>(TuningContext const&) const = default;
};

/// What was learnt of one class of calls, candidate by candidate.
struct TuningRecord {
    TuningContext where;
    Signature
        calls;  ///< a class; its `storage_key` stands for where.storage_key within one run only
    std::map<std::string, Score> scores;  ///< by name of the candidate
    bool frozen = false;                  ///< not to be examined any more
    bool replaces = false;                ///< what was known: that was wrong
    std::int64_t updated_s = 0;           ///< seconds since 1970
};

/// What selection begins with on one communicator. Equal on all its ranks.
struct Memory {
    MpiLibrary library;
    bool frozen = false;                ///< nothing is to be examined, nor written
    std::vector<TuningRecord> records;  ///< of earlier runs; of `where`, the storage key only
};

/// For sending rank 0's memory to all others; same build on both sides.
std::vector<std::byte> to_bytes(Memory const& memory);
/// Nothing if the bytes are not those of to_bytes().
std::optional<Memory> memory_from_bytes(std::span<std::byte const> bytes);

}  // namespace unisono
