#include "transfer.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "contents.hpp"
#include "mpi_support.hpp"
#include "test_file.hpp"

namespace bench::papers {
namespace {

constexpr std::byte poison{0xa5};  // in the buffer before each read

void sleep_s(double seconds) {
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// This process goes before all that have no such priority, as on a machine with nothing else to
/// do.
class Priority {
public:
    explicit Priority(bool wanted) : wanted_(wanted) {
        sched_param const first{.sched_priority = 1};
        if (wanted && sched_setscheduler(0, SCHED_RR, &first) != 0)
            throw std::system_error(errno, std::generic_category(), "--realtime");
    }
    ~Priority() {
        sched_param const ordinary{};
        if (wanted_) sched_setscheduler(0, SCHED_OTHER, &ordinary);
    }
    Priority(Priority const&) = delete;
    Priority& operator=(Priority const&) = delete;

private:
    bool wanted_;
};

/// Each process counts from the same barrier, on its own clock: they may be on several machines.
double slowest_s(double seconds) { return over_ranks(seconds, MPI_DOUBLE, MPI_MAX); }

/// The longest time of each call; processes that made fewer calls count as 0.
std::vector<double> slowest_of_each(std::vector<double> seconds) {
    auto const calls = over_ranks(static_cast<int>(seconds.size()), MPI_INT, MPI_MAX);
    seconds.resize(calls);
    MPI_Allreduce(MPI_IN_PLACE, seconds.data(), calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

Access access_of(Command const& command, Place place) {
    Access access = command.program->access(place, command.values);
    if (command.options.memory == Memory::noncontiguous) spread_in_memory(access);
    return access;
}

}  // namespace

double system_clock_s() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void wait_for_begin(std::string const& file, Place place) {
    if (file.empty()) return;
    MPI_Barrier(MPI_COMM_WORLD);
    if (place.rank == 0) std::ofstream{file + ".ready"};
    double begin_s = 0;
    while (!(std::ifstream{file} >> begin_s)) sleep_s(0.002);
    sleep_s(begin_s - system_clock_s());
}

Transfer::Transfer(Command const& command, Place place)
    : options_(command.options),
      place_(place),
      access_(access_of(command, place)),
      buffer_(access_.buffer_bytes() / access_.calls) {
    if (buffer_.size() > INT_MAX)
        throw std::runtime_error("a call is too large for the int counts of MPI-IO");
}

Transfer::~Transfer() { free_datatypes(access_); }

void Transfer::prepare() {
    TestFile const file(options_.path);
    bool const enough = file.size_bytes() >= access_.file_bytes;
    MPI_Barrier(MPI_COMM_WORLD);  // nobody makes it longer before all have looked
    if (!enough)
        file.fill_leaving_holes(slice_of(access_.file_bytes, place_), access_.coverage,
                                Salt::asked);
    MPI_Barrier(MPI_COMM_WORLD);
}

Measured Transfer::run(bool write) {
    Measured measured;
    wrong_offset_.reset();
    fill_contents(buffer_, 0, Salt::asked);
    if (options_.warm_up) warm_up();
    wait_for_begin(options_.begin_when, place_);
    MPI_Barrier(MPI_COMM_WORLD);
    Priority const priority(options_.realtime);
    measured.began_at = system_clock_s();
    double const open_s = MPI_Wtime();
    MPI_File file = open(write || options_.after_write);
    measured.open_seconds = slowest_s(MPI_Wtime() - open_s);
    if (!write && options_.after_write) write_first(file);

    double const begin_s = MPI_Wtime();
    move(file, write, begin_s, measured);
    if (options_.sync && write) check_mpi(MPI_File_sync(file), "MPI_File_sync");
    double const end_s = MPI_Wtime();
    check_mpi(MPI_File_close(&file), "MPI_File_close");
    double const close_s = MPI_Wtime() - end_s;
    measured.seconds = slowest_s(end_s - begin_s);
    measured.close_seconds = slowest_s(close_s);
    measured.compute_seconds = slowest_s(measured.compute_seconds);
    measured.bytes = sum_over_ranks(measured.bytes);
    if (options_.call_seconds) measured.call_seconds = slowest_of_each(measured.call_seconds);
    measured.wrong_offset = lowest_over_ranks(wrong_offset_);
    if (options_.verify && write) measured.wrong_offset = wrong_in_file();
    return measured;
}

/// As ROMIO's coll_perf begins: pages, connections and caches are there before anything is timed.
void Transfer::warm_up() {
    MPI_File file = open(true);
    write_first(file);
    Measured ignored;
    move(file, /*write=*/false, MPI_Wtime(), ignored);
    check_mpi(MPI_File_close(&file), "MPI_File_close");
}

/// Each process will read what it wrote itself, which it sees without a sync: what the library
/// keeps in memory may stay there.
void Transfer::write_first(MPI_File file) {
    Measured ignored;
    move(file, /*write=*/true, MPI_Wtime(), ignored);
    MPI_Barrier(MPI_COMM_WORLD);
}

MPI_File Transfer::open(bool write) const {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (auto const& [key, value] : options_.hints) MPI_Info_set(info, key.c_str(), value.c_str());
    MPI_File file = MPI_FILE_NULL;
    int const mode = write ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    check_mpi(MPI_File_open(MPI_COMM_WORLD, options_.path.c_str(), mode, info, &file),
              "MPI_File_open");
    if (!access_.explicit_offsets && options_.way != Way::pieces)
        check_mpi(MPI_File_set_view(file, static_cast<MPI_Offset>(access_.displacement_bytes),
                                    MPI_BYTE, access_.filetype, "native", info),
                  "MPI_File_set_view");
    MPI_Info_free(&info);
    return file;
}

void Transfer::move(MPI_File file, bool write, double begin_s, Measured& measured) {
    bool const for_some_time = options_.run_seconds > 0;
    bool const for_some_calls = options_.calls > 0;
    do {
        if (!access_.explicit_offsets && options_.way != Way::pieces)
            check_mpi(MPI_File_seek(file, 0, MPI_SEEK_SET), "MPI_File_seek");
        for (std::uint64_t call = 0; call < access_.calls; ++call) {
            if (for_some_time && time_is_over(begin_s)) return;
            if (for_some_calls && measured.call_seconds.size() >= options_.calls) return;
            double const call_s = MPI_Wtime();
            move_one_call(file, write, call);
            measured.bytes += access_.bytes_per_call();
            measured.call_seconds.push_back(MPI_Wtime() - call_s);
            double const computing_s = MPI_Wtime();
            sleep_s(options_.compute_seconds);
            measured.compute_seconds += MPI_Wtime() - computing_s;
        }
    } while (for_some_time || for_some_calls);
}

/// Where processes wait for each other, rank 0 decides for all of them.
bool Transfer::time_is_over(double begin_s) const {
    int over = MPI_Wtime() - begin_s >= options_.run_seconds ? 1 : 0;
    if (options_.way == Way::collective || options_.barrier)
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over != 0;
}

void Transfer::move_one_call(MPI_File file, bool write, std::uint64_t call) {
    if (options_.verify && write)
        for_each_piece(call, [&](std::uint64_t at, Piece piece) {
            fill_contents(std::span{buffer_}.subspan(at, piece.bytes), piece.offset, Salt::asked);
        });
    if (options_.verify && !write) std::fill(buffer_.begin(), buffer_.end(), poison);
    bool const by_pieces = options_.way == Way::pieces;
    auto const moved =
        by_pieces ? move_by_pieces(file, write, call) : move_by_view(file, write, call);
    if (moved != access_.bytes_per_call())
        throw std::runtime_error("the statuses count " + std::to_string(moved) + " of " +
                                 std::to_string(access_.bytes_per_call()) + " bytes");
    if (options_.sync_calls && write) check_mpi(MPI_File_sync(file), "MPI_File_sync");
    if (options_.barrier) MPI_Barrier(MPI_COMM_WORLD);
    if (options_.verify && !write) note_wrong_in_buffer(call);
}

std::uint64_t Transfer::move_by_view(MPI_File file, bool write, std::uint64_t call) {
    bool const all = options_.way == Way::collective;
    auto const count = static_cast<int>(access_.count);
    auto* const memory = buffer_.data();
    MPI_Status status;
    int code = MPI_SUCCESS;
    if (access_.explicit_offsets) {
        auto const at = static_cast<MPI_Offset>(access_.file_piece(call).offset);
        auto* const do_write = all ? MPI_File_write_at_all : MPI_File_write_at;
        auto* const do_read = all ? MPI_File_read_at_all : MPI_File_read_at;
        code = write ? do_write(file, at, memory, count, access_.memtype, &status)
                     : do_read(file, at, memory, count, access_.memtype, &status);
    } else {
        auto* const do_write = all ? MPI_File_write_all : MPI_File_write;
        auto* const do_read = all ? MPI_File_read_all : MPI_File_read;
        code = write ? do_write(file, memory, count, access_.memtype, &status)
                     : do_read(file, memory, count, access_.memtype, &status);
    }
    check_mpi(code, "the call");
    MPI_Count moved = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &moved);
    return static_cast<std::uint64_t>(moved);
}

std::uint64_t Transfer::move_by_pieces(MPI_File file, bool write, std::uint64_t call) {
    std::uint64_t moved = 0;
    for_each_piece(call, [&](std::uint64_t at, Piece piece) {
        auto const offset = static_cast<MPI_Offset>(piece.offset);
        auto const bytes = static_cast<int>(piece.bytes);
        auto* const memory = buffer_.data() + at;
        MPI_Status status;
        int const code = write ? MPI_File_write_at(file, offset, memory, bytes, MPI_BYTE, &status)
                               : MPI_File_read_at(file, offset, memory, bytes, MPI_BYTE, &status);
        check_mpi(code, "the call");
        int count = 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        moved += static_cast<std::uint64_t>(count);
    });
    return moved;
}

template <typename Visit>
void Transfer::for_each_piece(std::uint64_t call, Visit visit) const {
    std::uint64_t const pieces = access_.piece_count / access_.calls;
    std::uint64_t position = 0;  // without the gaps
    for (std::uint64_t index = call * pieces; index < (call + 1) * pieces; ++index) {
        Piece const piece = access_.file_piece(index);
        visit(access_.memory.at(position).offset, piece);
        position += piece.bytes;
    }
}

void Transfer::note_wrong_in_buffer(std::uint64_t call) {
    for_each_piece(call, [&](std::uint64_t at, Piece piece) {
        auto const found = std::span<std::byte const>(buffer_).subspan(at, piece.bytes);
        auto const difference = first_difference(found, piece.offset, Salt::asked);
        if (difference) note_wrong(piece.offset + *difference);
        if (access_.memory.dense()) return;
        auto const gap = std::span<std::byte const>(buffer_).subspan(at + piece.bytes, piece.bytes);
        bool const untouched = std::ranges::all_of(gap, [](auto byte) { return byte == poison; });
        if (!untouched) note_wrong(piece.offset + piece.bytes);
    });
}

void Transfer::note_wrong(std::uint64_t offset) {
    wrong_offset_ = std::min(wrong_offset_.value_or(offset), offset);
}

/// What was written is looked at through POSIX, each rank at its part of the file.
std::int64_t Transfer::wrong_in_file() const {
    TestFile const file(options_.path);
    auto const part = slice_of(access_.file_bytes, place_);
    return lowest_over_ranks(file.verify(part, access_.coverage, /*fresh=*/true).wrong_offset);
}

}  // namespace bench::papers
