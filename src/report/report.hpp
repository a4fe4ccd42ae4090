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

#include "report/fields.hpp"
#include "report/history.hpp"
#include "report/phases.hpp"
#include "report/recording.hpp"
#include "report/timeline.hpp"
#include "unisono/extent.hpp"

namespace unisono {

/// Seconds that ranks spent on something.
struct Spent {
    double total_s = 0;     ///< over all ranks
    double longest_s = 0;   ///< on the rank that spent most
    double shortest_s = 0;  ///< on the one that spent least

    void add(double seconds) {
        total_s += seconds;
        longest_s += seconds;
        shortest_s += seconds;
    }
    void merge(Spent const& other);
    friend bool operator==(Spent const&, Spent const&) = default;
};

/// The time of calls, by phase.
template <class AnyPhase>
struct Times {
    std::array<Spent, phase_names<AnyPhase>.size()> by_phase;

    void add(AnyPhase phase, double seconds) {
        by_phase[static_cast<std::size_t>(phase)].add(seconds);
        by_phase.back().add(seconds);
    }
    [[nodiscard]] Spent const& operator[](AnyPhase phase) const {
        return by_phase[static_cast<std::size_t>(phase)];
    }
    void merge(Times const& other) {
        for (std::size_t phase = 0; phase < by_phase.size(); ++phase)
            by_phase[phase].merge(other.by_phase[phase]);
    }
    friend bool operator==(Times const&, Times const&) = default;
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

/// The rank that others waited for.
struct Latest {
    std::int64_t rank = -1;  ///< -1: nobody waited
    double waited_s = 0;     ///< by that rank itself

    friend bool operator==(Latest const&, Latest const&) = default;
};

/// How many of what size: by the power of two at or below it.
using Histogram = std::map<std::uint64_t, std::uint64_t>;
/// CPUs, a bit for each.
using Cpus = std::vector<std::uint64_t>;
using Reasons = std::map<std::string, std::uint64_t>;
using Uses = std::map<std::string, Use>;
using Selections = std::vector<SelectionReport>;
using Notes = std::vector<std::string>;
/// Bytes, by what they are counted for.
using Loads = std::vector<std::uint64_t>;
using CallTimes = Times<Phase>;
using FileTimes = Times<FilePhase>;
using CallsTimeline = CallTimeline<Phase>;
using FileTimeline = CallTimeline<FilePhase>;
using AccessTimeline = Timeline<AccessesInTime>;

#define UNISONO_MEMBER(type, member, initial, ...) type member = initial;

/// What happened to one file in one direction. Counters of a rank; after merge(), of many.
struct DirectionReport {
    UNISONO_DIRECTION_FIELDS(UNISONO_MEMBER)

    /// Counts the pieces of one rank in one call, of `bytes` in all.
    void add_pieces(std::uint64_t count, std::uint64_t bytes);
    /// From begin to end on the slowest rank, in calls and beside the program. Nothing where the
    /// MPI library did nonblocking calls, of which only the beginning is seen.
    [[nodiscard]] std::optional<double> busy_s() const;
    /// Nothing at all happened.
    [[nodiscard]] bool idle() const { return *this == DirectionReport{}; }
    void merge(DirectionReport const& other);
    friend bool operator==(DirectionReport const&, DirectionReport const&) = default;
};

/// How often a file's accesses passed the gate of an orchestrator, and how long they waited there:
/// part of the time of file I/O.
struct GateReport {
    std::uint64_t accesses = 0;
    std::uint64_t waits = 0;  ///< of them, for the program's turn
    Spent waited;
    std::string locality;  ///< how the places of the accesses were known

    void merge(GateReport const& other);
    friend bool operator==(GateReport const&, GateReport const&) = default;
};

/// The program that a file belongs to, and where it runs.
struct ProgramReport {
    std::string id;           ///< the same for all files of one launch
    std::string name;         ///< of what is executed
    std::string mpi;          ///< the MPI library and its version
    std::uint32_t ranks = 0;  ///< in MPI_COMM_WORLD; 0: there is none
    Cpus cores;          ///< that this rank may use; after merge(), any of the ranks on its node
    double began = 0;    ///< seconds since the epoch; 0: not known
    double seconds = 0;  ///< since its start
    double core_wait_s = 0;  ///< of them, ready to run, with no core free; after merge(), the most

    /// Nodes are taken to be alike.
    void merge(ProgramReport const& other);
    friend bool operator==(ProgramReport const&, ProgramReport const&) = default;
};

/// What happened to one file between open and close, on one rank or, after merge(), on several.
struct FileReport {
    UNISONO_FILE_FIELDS(UNISONO_MEMBER)

    [[nodiscard]] DirectionReport& operator[](Direction direction) {
        return direction == Direction::read ? read : write;
    }
    /// Keeps the first few distinct ones.
    void add_error(std::string_view text);
    /// What it has of single moments and calls, which may be a megabyte.
    void forget_details();
    /// Adds another rank's counters for the same file. Cost: O(reasons).
    void merge(FileReport const& other);
    friend bool operator==(FileReport const&, FileReport const&) = default;
};

#undef UNISONO_MEMBER

/// Of the JSON objects. It grows when a key goes, or means something else; keys that come are no
/// reason.
inline constexpr int report_format = 1;

/// The lists of fields.hpp and phases.hpp as a JSON object, for the command and for documents:
/// `format`, `file` and `direction`, arrays of `key`, `unit`, `merge`, `label` and `meaning`, and
/// `phases` of each, arrays of `name` and `meaning`.
std::string fields_json();

/// For gathering by messages; same build on both sides. Cost: O(size), some kilobytes.
std::vector<std::byte> to_bytes(FileReport const& report);
/// Nothing if the bytes are not those of to_bytes().
std::optional<FileReport> report_from_bytes(std::span<std::byte const> bytes);

/// One line for people, without a newline.
std::string summary_line(FileReport const& report);

/// One JSON object in one line, without a newline. docs/use/hints.md explains the keys.
std::string to_json(FileReport const& report);

/// Appends `line` and a newline in a single write to a file opened for appending, so that lines of
/// concurrent programs stay whole (not guaranteed by NFS); behind what was cut off, for want of
/// space, in a line of its own. Lines may be empty. An empty path is standard error.
/// Returns 0 or errno.
int append_line(std::string const& path, std::string_view line);
/// The same to the file of this name in a folder that others may write to, too: to no link, pipe or
/// file of theirs (EPERM). A slash in `name` becomes a `_`.
int append_line_in(std::string const& folder, std::string name, std::string_view line);

}  // namespace unisono
