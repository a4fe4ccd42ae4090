#pragma once

#include <mpi.h>

#include <optional>
#include <vector>

#include "trace.hpp"

namespace bench::replay {

/// What playing one file came to; equal on all ranks.
struct Played {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;  ///< of all ranks
    /// Views, calls, syncs and closing, each as long as the rank took that took longest. Not
    /// opening: the first time, libraries set themselves up, which a program does once.
    double seconds = 0;

    void add(Played const& other) {
        calls += other.calls;
        bytes += other.bytes;
        seconds += other.seconds;
    }
};

/// Does the calls on one file again. Data are made up: each byte is a function of its offset, so
/// that ranks may overlap. Not measured are making them, looking at what was read, and a barrier
/// before each call. Collective over `comm`, whose ranks are those that the file was opened by.
class Player {
public:
    /// `flip_offset`: a byte of the file to spoil, so that tests see that it is noticed.
    Player(PlayedFile const& file, MPI_Comm comm, std::optional<std::uint64_t> flip_offset);

    /// Throws AgreedError where there is no room for the file, or a byte was wrong, and
    /// std::runtime_error where an MPI call failed.
    Played play();

private:
    void agree_on_calls();
    void agree_on_views();
    void prepare();
    /// Where the last byte is that any rank reads; of all calls with `all`.
    [[nodiscard]] std::uint64_t end_of_reads(bool all) const;
    void check_room() const;
    [[nodiscard]] MPI_File open() const;
    void set_view(MPI_File file, unisono::Tiling const& view) const;
    void do_call(MPI_File file, std::size_t index);
    void move(MPI_File file, Call const& call);
    void make_data(Call const& call);
    void check_data(Call const& call);
    void spoil() const;
    void check_file();
    void note_wrong(std::optional<std::uint64_t> offset);
    void fail_if_wrong(char const* where) const;

    template <class Do>
    void timed(Do&& act) {
        MPI_Barrier(comm_);
        auto const begin_s = MPI_Wtime();
        act();
        seconds_.push_back(MPI_Wtime() - begin_s);
    }

    PlayedFile file_;
    MPI_Comm comm_;
    std::optional<std::uint64_t> flip_offset_;
    int rank_ = 0;
    std::uint64_t end_of_all_ = 0;  ///< of what all ranks touch
    std::uint64_t end_of_reads_ = 0;
    std::vector<std::uint8_t> sets_view_;  ///< before the call, on all ranks
    std::vector<std::byte> buffer_;        ///< of one call
    std::vector<double> seconds_;
    std::optional<std::uint64_t> wrong_offset_;
};

}  // namespace bench::replay
