#pragma once

#include <mpi.h>

#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "generator.hpp"

namespace fuzz {

/// The first thing that went wrong on this rank.
struct Complaint {
    std::uint64_t step = 0;
    std::string text;
};

/// What a case is done on: threads of one process need their own.
struct Communicators {
    MPI_Comm world = MPI_COMM_NULL;  ///< all ranks, to open files on
    MPI_Comm self = MPI_COMM_NULL;   ///< the same for this rank's own
    /// All ranks, for the fuzzer's own communication. OMPIO communicates on the very communicator
    /// that a file is opened on, and may leave a message behind.
    MPI_Comm everyone = MPI_COMM_NULL;
};

/// Performs a case through MPI and checks what comes back. All ranks have one and call the same
/// members in the same order. A complaint does not stop the case: the others could not know.
class Performer {
public:
    Performer(std::vector<FileState>& files, Options const& options,
              Communicators const& communicators);
    ~Performer();
    Performer(Performer const&) = delete;
    Performer& operator=(Performer const&) = delete;

    void open_all();
    void perform(std::uint64_t number, Step const& step);
    void close_all(std::uint64_t number);

    [[nodiscard]] std::optional<Complaint> const& complaint() const { return complaint_; }
    /// Did --canary find a byte to spoil on this rank?
    [[nodiscard]] bool spoilt() const { return spoilt_; }

private:
    struct Open {
        MPI_Comm communicator = MPI_COMM_NULL;  ///< what the file is opened on
        MPI_Comm control = MPI_COMM_NULL;       ///< the same ranks, for the fuzzer itself
        MPI_File handle = MPI_FILE_NULL;
        MPI_File other = MPI_FILE_NULL;  ///< see OtherHandle
        int descriptor = -1;  ///< the first member's, to look at the file even when it is unlinked
        int member = -1;      ///< this rank's, -1 when it does not take part
    };

    /// This rank's part of a pending access.
    struct Begun {
        explicit Begun(Access const& given) : access(given), buffer(access), before(buffer.bytes) {}
        Begun(Begun const&) = delete;
        Begun& operator=(Begun const&) = delete;
        Access access;  ///< the buffer refers to it
        Buffer buffer;
        std::vector<std::uint8_t> before;
        MPI_Request request = MPI_REQUEST_NULL;
    };

    int in_turn(Open const& open, std::function<int()> const& call) const;
    void complain(std::string text);
    void expect_equal(char const* what, std::integral auto expected, std::integral auto found);
    void expect_success(int code, char const* call);
    void make_communicator(FileState const& file, Open& open);
    void make_initial(FileState const& file) const;
    void open_file(FileState const& file, Open& open);
    void try_forbidden_open(FileState const& file, Open const& open);
    void close_file(FileState& file, Open& open);
    void check_closed(FileState& file, Open& open);

    void perform_here(Step const& step);
    void perform_kind(Step const& step, FileState& file, Open& open);
    void perform_access(Step const& step, FileState& file, Open& open);
    void call_and_look(Open const& open, Access const& access, Buffer& buffer, Outcome& outcome);
    void begin(Step const& step, Open const& open);
    void perform_complete(Step const& step);
    void complete_requests(Step const& step, std::vector<PendingName> const& names);
    void end_splits(std::vector<PendingName> const& names);
    void finish_freed(std::vector<PendingName> const& names);
    void free_requests(Step const& step);
    void check_completed(PendingName const& name, int code);
    std::vector<Outcome> agree(Step const& step, Outcome const& mine, Open const& open);
    void check_outcome(Step const& step, FileState const& file, Outcome const& outcome, int member);
    void check_data(FileState const& file, Access const& access, View const& view,
                    Buffer const& buffer, Outcome const& outcome, int member);
    void check_type(TypePtr const& type);
    void check_counts(Access const& access, std::uint64_t bytes);
    void recover(FileState& file, Open& open);
    void expect_owed(int code, char const* call, FileState& file, Open const& open);
    void check_position(FileState const& file, Open const& open);
    void check_not_mixed(Step const& step, FileState const& file, Open const& open);
    void check_hints(Hints const& hints, Open const& open);
    void check_queries(FileState const& file, Open const& open);

    void perform_seek(Step const& step, Open& open);
    void perform_seek_shared(Step const& step, Open& open);
    void check_shared_position(FileState const& file, Open const& open);
    void perform_byte_offset(Step const& step, Open& open);
    void perform_set_view(Step const& step, FileState const& file, Open& open);
    void perform_set_info(Step const& step, FileState const& file, Open& open);
    void perform_check_view(FileState const& file, Open& open);
    void perform_sizes(Step const& step, FileState& file, Open& open);
    void perform_check_size(FileState const& file, Open& open);
    void perform_forbidden(Step const& step, FileState const& file, Open& open);
    void perform_toggle(FileState const& file, Open& open);
    void perform_reopen(Step const& step, FileState& file, Open& open);
    void open_other(Step const& step, FileState const& file, Open& open);
    void close_other(Open& open);
    void sync(FileState& file, Open& open);
    void settle(FileState& file, Open& open);
    void look(FileState& file, Open& open);
    void cut_power(Open const& open);

    std::vector<FileState>& files_;
    Options const& options_;
    Communicators communicators_;
    std::vector<Open> open_;
    std::optional<Complaint> complaint_;
    std::uint64_t step_number_ = 0;
    std::map<std::uint64_t, Begun> begun_;  ///< by number
    int call_code_ = MPI_SUCCESS;           ///< of the data access under check
    MPI_Status status_{};
    bool spoilt_ = false;
};

}  // namespace fuzz
