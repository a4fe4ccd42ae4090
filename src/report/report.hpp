#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/extent.hpp"

namespace unisono {

/// What a collective call spends its time on.
enum class Phase : std::uint8_t {
    waiting,   ///< for other ranks: agreement, barriers
    exchange,  ///< messages between nodes
    copying,   ///< between the user's memory and collective buffers
    file,      ///< file I/O
    whole,     ///< the call from beginning to end: phases may overlap, so not their sum
};
inline constexpr std::array<std::string_view, 5> phase_names{"waiting", "exchange", "copying",
                                                             "file", "whole"};

/// Seconds that ranks spent on something.
struct Spent {
    double total_s = 0;    ///< over all ranks
    double longest_s = 0;  ///< on the rank that spent most

    void add(double seconds) {
        total_s += seconds;
        longest_s += seconds;
    }
    friend bool operator==(Spent const&, Spent const&) = default;
};

/// How often something was done, and the distinct reasons that were given, the first few only.
struct Use {
    static constexpr std::size_t reasons_at_most = 8;

    std::uint64_t calls = 0;
    std::vector<std::string> why;

    void add(std::uint64_t more_calls, std::string_view reason);
    friend bool operator==(Use const&, Use const&) = default;
};

/// How measuring chose who does one class of calls. Equal on all ranks.
struct SelectionReport {
    struct Tried {
        std::string candidate;
        std::uint64_t calls = 0;       ///< of this program, on this communicator
        std::uint64_t remembered = 0;  ///< of earlier runs
        double bytes_per_s = 0;
        friend bool operator==(Tried const&, Tried const&) = default;
    };
    struct Reopened {
        std::uint64_t call = 0;  ///< after so many
        std::string why;
        friend bool operator==(Reopened const&, Reopened const&) = default;
    };

    std::string calls;  ///< which ones, in words
    std::vector<Tried> tried;
    std::vector<std::string> untried;  ///< candidates that were not worth their trial so far
    std::string winner;
    std::string why;
    std::uint64_t calls_done = 0;
    double seconds = 0;              ///< all of these calls, on the slowest rank
    double examination_seconds = 0;  ///< what was lost in them by trying others
    std::vector<Reopened> reopened;
    friend bool operator==(SelectionReport const&, SelectionReport const&) = default;
};

/// What happened to one file in one direction. Counters of a rank; after merge(), of many.
/// "max" behind a name: every rank counts the same events, so merging takes the largest.
struct DirectionReport {
    std::uint64_t collective_calls = 0;   ///< max
    std::uint64_t failed_calls = 0;       ///< collective ones with an error; max
    std::uint64_t independent_calls = 0;  ///< done by Unisono
    std::map<std::string, std::uint64_t>
        native_calls;                             ///< reason: calls left to the MPI library; max
    std::uint64_t asked_bytes = 0;                ///< what the program asked for
    std::uint64_t moved_bytes = 0;                ///< to or from the file
    std::uint64_t sent_bytes = 0;                 ///< in messages between nodes
    std::uint64_t messages = 0;                   ///< between nodes
    std::uint64_t pieces = 0;                     ///< contiguous pieces accessed in the file
    std::uint64_t holes = 0;                      ///< gaps between pieces that were skipped
    std::uint64_t rounds = 0;                     ///< of the collective buffer; max
    std::uint64_t meetings = 0;                   ///< of all ranks, in collective calls; max
    std::array<Spent, phase_names.size()> spent;  ///< by Phase
    std::map<std::string, Use> strategies;        ///< calls: max
    std::map<std::string, Use> refusals;      ///< strategies that were asked for and could not; max
    std::vector<SelectionReport> selections;  ///< rank 0's

    [[nodiscard]] Spent& operator[](Phase phase) { return spent[static_cast<std::size_t>(phase)]; }
    [[nodiscard]] Spent const& operator[](Phase phase) const {
        return spent[static_cast<std::size_t>(phase)];
    }
    /// Nothing at all happened.
    [[nodiscard]] bool idle() const { return *this == DirectionReport{}; }
    void merge(DirectionReport const& other);
    friend bool operator==(DirectionReport const&, DirectionReport const&) = default;
};

/// How often a file's accesses passed the gate of an orchestrator, and how long they waited there:
/// part of the time of file I/O.
struct GateReport {
    std::uint64_t passages = 0;
    std::uint64_t waits = 0;  ///< of them, for the program's turn
    Spent waited;
    std::string locality;  ///< how the places of the accesses were known

    void merge(GateReport const& other);
    friend bool operator==(GateReport const&, GateReport const&) = default;
};

/// What happened to one file between open and close, on one rank or, after merge(), on several.
struct FileReport {
    std::string file;
    std::uint32_t ranks = 1;        ///< how many ranks' counters are in it
    std::uint32_t nodes = 1;        ///< that the ranks run on
    std::uint32_t aggregators = 0;  ///< at most, over the calls
    std::string backend;
    std::string layout;              ///< e.g. "12 servers, 1 MiB stripes (hints)"
    std::vector<std::string> notes;  ///< what the user should know, e.g. a striping that hurts
    GateReport gate;
    DirectionReport read;
    DirectionReport write;

    [[nodiscard]] DirectionReport& operator[](Direction direction) {
        return direction == Direction::read ? read : write;
    }
    /// Adds another rank's counters for the same file. Cost: O(reasons).
    void merge(FileReport const& other);
    friend bool operator==(FileReport const&, FileReport const&) = default;
};

/// For gathering by messages; same build on both sides. Cost: O(size), some kilobytes.
std::vector<std::byte> to_bytes(FileReport const& report);
/// Nothing if the bytes are not those of to_bytes().
std::optional<FileReport> report_from_bytes(std::span<std::byte const> bytes);

/// One line for people, without a newline.
std::string summary_line(FileReport const& report);

/// One JSON object in one line, without a newline. docs/hints.md explains the keys.
std::string to_json(FileReport const& report);

/// Appends `line` and a newline in a single write to a file opened for appending, so that lines of
/// concurrent programs stay whole (not guaranteed by NFS). An empty path is standard error.
/// Returns 0 or errno.
int append_line(std::string const& path, std::string_view line);

/// For people: "0 B", "64 B", "1.50 MiB".
std::string human_bytes(double bytes);

}  // namespace unisono
