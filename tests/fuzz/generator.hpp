#pragma once

#include <optional>
#include <string>

#include "case.hpp"
#include "random.hpp"
#include "random_types.hpp"

namespace fuzz {

struct Options {
    std::string folder;   ///< where the files of a case live while it runs
    bool native = false;  ///< no Unisono: only what every MPI library is known to get right
    bool faults = false;  ///< inject failures
    bool canary = false;  ///< spoil one byte: must be found
    bool pocket = false;  ///< the folder is the mountpoint of a pocket file system
    /// The power of the pocket file system is cut before each look at a file and after each close.
    bool power_cuts = false;
    /// Comma list of features to look past: large_count, interleaving, bottom, split, nonblocking,
    /// short_transfers, sparse_offsets, tiny_buffers, unlink, atomicity, forbidden_open, ordered,
    /// representations, pending, freed, library_nonblocking, dealt, lone_request, lone_pending,
    /// sieving, other_handle, loops, rare_hints, new_hints, shared, begins_atomic, sizes, reads_on.
    std::string skip;
    /// Comma list of features that each case has: lone_pending, sieving, other_handle, loops,
    /// new_hints, shared, begins_atomic, sizes, reads_on.
    std::string deal;
    bool threaded = false;           ///< the program has MPI_THREAD_MULTIPLE
    bool beside = false;             ///< other threads of each rank have cases of their own
    std::uint64_t steps_max = 1000;  ///< stop each case after so many, to narrow a failure down

    /// One file that all ranks have open: others would not know of a failure, or lose bytes.
    [[nodiscard]] bool one_file() const { return faults || power_cuts; }
    [[nodiscard]] bool skips(std::string const& feature) const { return lists(skip, feature); }
    [[nodiscard]] bool deals(std::string const& feature) const { return lists(deal, feature); }

private:
    static bool lists(std::string const& features, std::string const& feature) {
        return ("," + features + ",").find("," + feature + ",") != std::string::npos;
    }
};

/// Makes a case up, step by step, from a seed. It knows the model, never the real outcome, so that
/// all ranks make up the same case.
class Generator {
public:
    Generator(std::uint64_t seed, int ranks, Options const& options);

    [[nodiscard]] std::vector<FileState>& files() { return files_; }
    [[nodiscard]] std::uint64_t step_count() const { return step_count_; }
    Step next();
    /// What is still pending when the steps are over.
    Step last() { return complete_step(all_pending()); }

private:
    void make_files(std::uint64_t seed);
    std::vector<std::vector<int>> random_members();
    FileState make_file(std::string path, std::vector<int> members);
    void choose_hints(FileState& file);
    bool deals(char const* feature, unsigned percent);
    bool deals(char const* feature, unsigned percent, Random& random);
    void choose_sieving();
    void choose_loops();
    void choose_other();
    void add_rare_hints();
    void choose_late();
    void choose_reading_on();
    void choose_fault(FileState& file);
    int random_mode(bool exists);
    char const* choose_representation(FileState const& file);

    void plan_opening();
    Step opening_step();
    bool add_lone_request(Step& step, FileState& file);
    void plan_pending();
    std::optional<Step> late_step();
    Hints new_hints(FileState const& file);
    bool fill_shared(Step& step, FileState& file);
    StepKind choose_kind(FileState const& file);
    void choose_handle(Step& step, FileState const& file);
    bool fill_open_other(Step& step, FileState const& file);
    bool fill(Step& step, FileState& file);
    bool fill_here(Step& step, FileState& file);
    void note_written(Step const& step, FileState const& file);
    void aim(Step& step, FileState const& file);
    void settle_before(Step& step, FileState& file, bool collective);
    bool fill_access(Step& step, FileState& file, bool collective);
    void add_records(Step& step, FileState const& file, bool writes);
    bool fill_repeat(Step& step, FileState& file);
    [[nodiscard]] bool goes_too_far(Access const& access, View const& view,
                                    FileState const& file) const;
    [[nodiscard]] bool knows_shared_pointer(FileState const& file) const;
    bool fill_seek_shared(Step& step, FileState& file);
    void choose_order(Step& step, FileState& file);
    [[nodiscard]] bool may_repeat(Step const& step, FileState const& file) const;
    bool fill_seek(Step& step, FileState& file);
    bool fill_byte_offset(Step& step, FileState& file);
    bool fill_views(Step& step, FileState& file);
    bool fill_dealt_views(Step& step, FileState const& file);
    void make_whole_tiles(Step& step, FileState const& file);
    bool fill_sizes(Step& step, FileState& file);
    bool fill_reopen(Step& step, FileState& file);
    bool fill_forbidden(Step& step, FileState& file);

    Access make_access(FileState const& file, Member const& member, bool writes, bool at_offset);
    TypePtr choose_memory_type(Access& access, FileState const& file);
    std::uint64_t choose_count(Access const& access, View const& view, std::uint64_t bytes_max);
    [[nodiscard]] bool beside(FileState const& file) const;
    void choose_flavour(Step& step, FileState& file);
    void choose_pending(Step& step, FileState const& file);
    [[nodiscard]] std::vector<PendingName> all_pending() const;
    [[nodiscard]] std::vector<PendingName> pending_of(std::size_t file) const;
    [[nodiscard]] std::vector<PendingName> some_pending();
    void add_rest_of_freed(std::vector<PendingName>& names) const;
    Step complete_step(std::vector<PendingName> names);
    [[nodiscard]] bool may_free(std::vector<PendingName> const& names) const;
    std::uint64_t random_position(FileState const& file, View const& view);
    void find_races(Step& step, FileState& file);
    void expect_failures(Step& step, FileState const& file);
    Failure failure_of(Access const& access, View const& view, FileState const& file);
    [[nodiscard]] TypeLimits limits(FileState const& file) const;

    Random random_;
    // Of their own: a case without an opening or an extra is the same as ever.
    Random opening_random_;
    Random extra_random_;
    Random rare_random_;
    Random late_random_;
    Random on_random_;
    int ranks_;
    Options options_;
    std::vector<FileState> files_;
    std::uint64_t step_count_ = 0;
    std::vector<StepKind> opening_;  // of file 0, the next one last: what a case begins with
    bool others_ = false;            // files may have another handle
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> last_written_;  // by file
    bool loops_ = false;  // calls repeat so often that others are measured
    Step first_of_loop_;
    bool changes_hints_ = false;
    bool shares_ = false;  // single ranks' calls with the shared file pointer
    bool sizes_ = false;
    bool begins_atomic_ = false;
    bool reads_on_ = false;  // files that are only read, for long, by calls that repeat
    bool pends_ = false;     // large requests of the opening go on while others do theirs
    Step repeated_;          // a collective write that is made again further on, so many times
    std::uint64_t repeats_ = 0;
    std::uint64_t begun_ = 0;  // accesses that were left pending, so far
};

}  // namespace fuzz
