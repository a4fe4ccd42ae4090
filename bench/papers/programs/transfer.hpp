#pragma once

#include <cstddef>
#include <vector>

#include "options.hpp"

namespace bench::papers {

/// What one run through the file took. Times are those of the slowest process.
struct Measured {
    double open_seconds = 0;           ///< MPI_File_open and MPI_File_set_view
    double seconds = 0;                ///< the calls and what is between, with --sync also that
    double compute_seconds = 0;        ///< of them, between the calls (--compute-seconds)
    double close_seconds = 0;          ///< MPI_File_close: data that was kept in memory moves here
    double began_at = 0;               ///< system clock
    std::uint64_t bytes = 0;           ///< of all processes
    std::vector<double> call_seconds;  ///< only with --call-seconds
    std::int64_t wrong_offset = 0;     ///< of the first wrong byte, no_offset if there is none
};

/// Seconds since 1970.
double system_clock_s();

/// Makes `file`.ready once all ranks are there, and waits for the time that will stand in `file`,
/// in seconds of the system clock. Without a name it returns at once. Collective.
void wait_for_begin(std::string const& file, Place place);

/// One program's accesses to one file, on this rank. All functions are collective over
/// MPI_COMM_WORLD and throw std::runtime_error or std::system_error.
class Transfer {
public:
    Transfer(Command const& command, Place place);
    ~Transfer();
    Transfer(Transfer const&) = delete;
    Transfer& operator=(Transfer const&) = delete;

    /// Writes what a read expects, by POSIX calls, unless the file is long enough already.
    void prepare();
    Measured run(bool write);

private:
    [[nodiscard]] MPI_File open(bool write) const;
    void warm_up();
    void write_first(MPI_File file);
    void move(MPI_File file, bool write, double begin_s, Measured& measured);
    void move_one_call(MPI_File file, bool write, std::uint64_t call);
    std::uint64_t move_by_view(MPI_File file, bool write, std::uint64_t call);
    std::uint64_t move_by_pieces(MPI_File file, bool write, std::uint64_t call);
    [[nodiscard]] bool time_is_over(double begin_s) const;
    [[nodiscard]] std::int64_t wrong_in_file() const;
    void note_wrong_in_buffer(std::uint64_t call);
    void note_wrong(std::uint64_t offset);

    /// Calls visit(buffer offset, piece) for the pieces of one call.
    template <typename Visit>
    void for_each_piece(std::uint64_t call, Visit visit) const;

    Options const& options_;
    Place place_;
    Access access_;
    std::vector<std::byte> buffer_;  ///< of one call, with the gaps of noncontiguous memory
    std::optional<std::uint64_t> wrong_offset_;
};

}  // namespace bench::papers
