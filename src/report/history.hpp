#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace unisono {

struct FileReport;

/// Files whose speeds in different runs are comparable.
struct FileKind {
    std::string program;  ///< what is executed
    std::string files;    ///< their name, without folders, with # for each number
    std::string storage;  ///< file system and layout
    std::string machine;
    std::uint32_t ranks = 0;
    std::uint32_t nodes = 0;
    std::uint32_t written_class = 0;  ///< bit width of the bytes of one file
    std::uint32_t read_class = 0;

    auto operator<=>(FileKind const&) const = default;
};

/// What such files took in one run. Times are those of the slowest rank, phase by phase, without
/// waiting for other ranks and without opening.
struct PastRun {
    std::string id;  ///< of the run
    std::uint64_t bytes = 0;
    double seconds = 0;
    /// Of them, in the file system: also in syncs and closes, but not for the program's turn.
    double storage_seconds = 0;
};

struct FileHistory {
    static constexpr std::size_t runs_most = 12;

    FileKind kind;
    std::vector<PastRun> runs;  ///< the earliest first
    std::int64_t updated_s = 0;

    /// Adds a run, or replaces what was known of it; forgets the earliest ones.
    void take_in(PastRun const& run);
};

/// That a file was slower than before. What earlier runs took is for as many bytes.
struct Slowdown {
    std::uint32_t runs = 0;  ///< earlier ones; 0: it was not, or nobody knows
    double seconds = 0;
    double median_s = 0;          ///< of the earlier ones
    double upper_s = 0;           ///< what four of five of these runs took at most
    double share_of_storage = 0;  ///< of what it took longer

    friend bool operator==(Slowdown const&, Slowdown const&) = default;
};

/// Only where it is no chance: at least five earlier runs, half as long again as their median, and
/// a quarter longer than four of five of them: one that was slow as well hides nothing.
Slowdown slowdown(FileHistory const& history, PastRun const& now);

/// "3.1 times as slow as in the last 12 runs (4.2 s; usually 1.3 s, up to 1.5 s): the file system,
/// not the program"; empty where it was not slower.
std::string describe(Slowdown const& slowdown);

/// "out/chk_0012.dat": "chk_#.dat".
std::string files_of(std::string const& path);

/// `storage` and `machine` are the caller's. Of a report on all ranks.
FileKind kind_of(FileReport const& report, std::string storage, std::string machine);
/// Of no run yet; nothing of a file with nonblocking calls, or a tenth of whose time was the MPI
/// library's.
PastRun run_of(FileReport const& report);

}  // namespace unisono
