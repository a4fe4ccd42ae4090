#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "report/recording.hpp"

namespace bench::replay {

/// The same on all ranks of MPI_COMM_WORLD, or of those that have a file open: rank 0 tells of it,
/// and all may end in an orderly way. Launchers that abort lose output.
struct AgreedError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One collective call of this rank.
struct Call {
    unisono::RecordedKind kind = unisono::RecordedKind::write;
    unisono::Tiling view;
    unisono::Positions positions;
};

/// What one rank has to do with one file.
struct PlayedFile {
    std::string path;    ///< where it is played
    std::string access;  ///< what the program opened it for: "r", "w" or "rw"
    std::vector<std::pair<std::string, std::string>> hints;
    int ranks = 0;            ///< that have it open: the first ones
    std::vector<Call> calls;  ///< of this rank, if it is one of them
};

/// The files of a trace, which rank 0 reads. The trace is a JSON object with `files`, an array of
/// recordings as they are in reports, each with a `path`; and `calls`, how many of each file at
/// most. Collective over MPI_COMM_WORLD. Throws AgreedError where rank 0 cannot read it, and
/// std::runtime_error where this rank does not understand its part.
std::vector<PlayedFile> read_trace(std::string const& path);

}  // namespace bench::replay
