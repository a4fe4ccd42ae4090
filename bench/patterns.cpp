// Measures collective MPI-IO calls pattern by pattern and verifies every byte that they moved.
// Only the data calls are timed: opening, views, preparing and verifying are not. All ranks must
// run on one machine, because their clocks are compared.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "contents.hpp"
#include "gpu.hpp"
#include "mpi_support.hpp"
#include "options.hpp"
#include "pattern_table.hpp"
#include "test_file.hpp"

namespace bench {
namespace {

constexpr std::byte poison{0xa5};  // lies in the gaps of the user's buffer, and before reads in all

/// Seconds on a clock that all processes of one machine share.
double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// From the first rank's beginning to the last rank's end. The longest of the ranks' own times
/// would flatter whatever needs no partner: with more ranks than cores, some begin late.
double span_s(double begin_s, double end_s) {
    return over_ranks(end_s, MPI_DOUBLE, MPI_MAX) - over_ranks(begin_s, MPI_DOUBLE, MPI_MIN);
}

/// The whole of one pattern on this rank: what is asked, the user's buffer and what came out.
class Run {
public:
    Run(Options const& options, Pattern const& pattern, Job const& job)
        : options_(options), pattern_(pattern), job_(job), access_(pattern.build(job)) {
        if (access_.count > INT_MAX)
            throw std::invalid_argument("--bytes is too large for the int counts of MPI-IO");
        total_bytes_ = sum_over_ranks(access_.bytes);
        if (options.posix) access_ = contiguous_instead();
        buffer_.resize(access_.buffer_bytes());
        if (options.memory != Memory::host) gpu_.emplace(buffer_.size());
        if (copies()) pinned_.emplace(buffer_);
    }

    ~Run() { free_datatypes(access_); }
    Run(Run const&) = delete;
    Run& operator=(Run const&) = delete;

    /// Measures one mode. False if the contents were wrong; rank 0 has then said where.
    bool measure(Mode mode) {
        seconds_.clear();
        close_seconds_.clear();
        spoilt_hole_bytes_ = 0;
        double measured_seconds = 0;
        if (mode != Mode::read) {
            fill_buffer();
            if (gpu_) gpu_->put(0, buffer_);
        }
        for (int repeat = 0; repeat < options_.repeats; ++repeat) {
            prepare_file(mode, repeat);
            if (mode == Mode::read) {
                std::fill(buffer_.begin(), buffer_.end(), poison);
                if (gpu_) gpu_->put(0, buffer_);
            }
            if (options_.posix)
                transfer_by_posix(mode);
            else
                transfer_by_mpi(mode);
            if (gpu_ && mode == Mode::read) gpu_->get(0, buffer_);
            if (!verify(mode)) return false;
            measured_seconds += seconds_.back();
            if (options_.limit_seconds > 0 && measured_seconds >= options_.limit_seconds) break;
        }
        if (job_.rank == 0) print(mode);
        return true;
    }

private:
    /// As many bytes of this rank, one block after the other in the order of the ranks.
    [[nodiscard]] Access contiguous_instead() const {
        std::uint64_t before = 0;
        std::uint64_t const own = access_.bytes;
        MPI_Exscan(&own, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (job_.rank == 0) before = 0;  // MPI leaves it undefined
        Access block = access_;          // keeps the datatypes, which the destructor frees
        block.calls = block.piece_count = 1;
        block.memory = block.coverage = Comb{};
        block.file_piece = [=](std::uint64_t) -> Piece { return {before, own}; };
        block.file_bytes = total_bytes_;
        return block;
    }

    [[nodiscard]] bool copies() const { return options_.memory == Memory::gpu_copied; }

    [[nodiscard]] std::span<std::byte> part(std::size_t begin, std::size_t end) {
        return std::span{buffer_}.subspan(begin, end - begin);
    }

    [[nodiscard]] Piece own_slice() const { return slice_of(access_.file_bytes, job_); }

    void fill_buffer() {
        std::fill(buffer_.begin(), buffer_.end(), poison);
        access_.for_each_run([&](std::uint64_t at, std::uint64_t offset, std::uint64_t bytes) {
            fill_contents(std::span{buffer_}.subspan(at, bytes), offset, Salt::asked);
        });
    }

    /// Brings the file into the state that the mode starts from. Overwritten files are synced, so
    /// that their write-back does not fall into the measurement.
    void prepare_file(Mode mode, int repeat) {
        bool const first_read = mode == Mode::read && repeat == 0;
        bool const fresh = mode == Mode::fresh || mode == Mode::sync;
        if (job_.rank == 0 && (fresh || repeat == 0)) unlink_file(options_.path);
        MPI_Barrier(MPI_COMM_WORLD);
        if (first_read || mode == Mode::overwrite) {
            TestFile const file(options_.path);
            file.fill(own_slice(), access_.coverage, first_read ? Salt::asked : Salt::earlier);
            file.sync();
            MPI_Barrier(MPI_COMM_WORLD);  // all slices are there before one byte is spoilt
            if (first_read && job_.rank == 0 && options_.flip_offset)
                file.flip_byte(*options_.flip_offset);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }

    [[nodiscard]] MPI_File open(Mode mode) const {
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        for (auto const& [key, value] : options_.hints)
            MPI_Info_set(info, key.c_str(), value.c_str());
        int const to_write = options_.write_only ? MPI_MODE_WRONLY : MPI_MODE_RDWR;
        int const access_mode = mode == Mode::read ? MPI_MODE_RDONLY : to_write | MPI_MODE_CREATE;
        MPI_File file = MPI_FILE_NULL;
        check_mpi(MPI_File_open(MPI_COMM_WORLD, options_.path.c_str(), access_mode, info, &file),
                  "MPI_File_open");
        if (!access_.explicit_offsets)
            check_mpi(MPI_File_set_view(file, static_cast<MPI_Offset>(access_.displacement_bytes),
                                        MPI_BYTE, access_.filetype, "native", info),
                      "MPI_File_set_view");
        MPI_Info_free(&info);
        return file;
    }

    /// One collective call; returns the bytes that its status reports.
    std::uint64_t call(MPI_File file, Mode mode, std::uint64_t index) {
        auto const at = access_.memory.at(index * access_.bytes_per_call()).offset;
        auto const end = access_.memory.at((index + 1) * access_.bytes_per_call()).offset;
        if (copies() && mode != Mode::read) gpu_->get(at, part(at, end));
        std::byte* const memory =
            (options_.memory == Memory::gpu ? gpu_->data() : buffer_.data()) + at;
        auto const count = static_cast<int>(access_.count);
        MPI_Status status;
        if (!access_.explicit_offsets) {
            auto* const move = mode == Mode::read ? read_all : MPI_File_write_all;
            check_mpi(move(file, memory, count, access_.memtype, &status), "collective call");
        } else {
            auto* const move = mode == Mode::read ? read_at_all : MPI_File_write_at_all;
            auto const offset = static_cast<MPI_Offset>(access_.file_piece(index).offset);
            check_mpi(move(file, offset, memory, count, access_.memtype, &status),
                      "collective call");
        }
        if (copies() && mode == Mode::read) gpu_->put(at, part(at, end));
        MPI_Count elements = 0;
        MPI_Get_elements_x(&status, MPI_BYTE, &elements);
        return static_cast<std::uint64_t>(elements);
    }

    static int read_all(MPI_File file, void const* memory, int count, MPI_Datatype type,
                        MPI_Status* status) {
        return MPI_File_read_all(file, const_cast<void*>(memory), count, type, status);
    }

    static int read_at_all(MPI_File file, MPI_Offset offset, void const* memory, int count,
                           MPI_Datatype type, MPI_Status* status) {
        return MPI_File_read_at_all(file, offset, const_cast<void*>(memory), count, type, status);
    }

    /// A sync that leaves everything to the next one is fast.
    void expect_synced() const {
        MPI_Barrier(MPI_COMM_WORLD);  // all ranks have returned from it
        if (job_.rank != 0) return;
        auto const left_bytes = TestFile(options_.path).sync_the_rest();
        if (left_bytes > 0)
            throw std::runtime_error("MPI_File_sync left " + std::to_string(left_bytes) +
                                     " bytes in memory");
    }

    void transfer_by_mpi(Mode mode) {
        MPI_File file = open(mode);
        std::uint64_t moved_bytes = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        double const begin_s = now_s();
        for (std::uint64_t index = 0; index < access_.calls; ++index)
            moved_bytes += call(file, mode, index);
        if (mode == Mode::sync) check_mpi(MPI_File_sync(file), "MPI_File_sync");
        double const end_s = now_s();
        if (mode == Mode::sync) expect_synced();
        double const closing_s = now_s();
        check_mpi(MPI_File_close(&file), "MPI_File_close");
        double const closed_s = now_s();
        seconds_.push_back(span_s(begin_s, end_s));
        close_seconds_.push_back(span_s(closing_s, closed_s));
        if (moved_bytes != access_.bytes)
            throw std::runtime_error("the statuses count " + std::to_string(moved_bytes) + " of " +
                                     std::to_string(access_.bytes) + " bytes");
    }

    void transfer_by_posix(Mode mode) {
        TestFile const file(options_.path);
        std::uint64_t const offset = access_.file_piece(0).offset;
        MPI_Barrier(MPI_COMM_WORLD);
        double const begin_s = now_s();
        if (copies() && mode != Mode::read) gpu_->get(0, buffer_);
        if (mode == Mode::read)
            file.read(buffer_, offset);
        else
            file.write(buffer_, offset);
        if (copies() && mode == Mode::read) gpu_->put(0, buffer_);
        if (mode == Mode::sync) file.sync();
        seconds_.push_back(span_s(begin_s, now_s()));
        close_seconds_.push_back(0);
    }

    bool verify(Mode mode) {
        MPI_Barrier(MPI_COMM_WORLD);
        TestFile::Finding finding;
        if (mode == Mode::read)
            finding.wrong_offset = wrong_in_buffer();
        else
            finding = wrong_in_file(mode);
        spoilt_hole_bytes_ =
            std::max(spoilt_hole_bytes_, sum_over_ranks(finding.spoilt_hole_bytes));
        std::int64_t const wrong = lowest_over_ranks(finding.wrong_offset);
        if (wrong == no_offset) return true;
        if (job_.rank == 0)
            std::cerr << pattern_.name << ' ' << name_of(mode) << ": wrong byte at offset " << wrong
                      << '\n';
        return false;
    }

    [[nodiscard]] TestFile::Finding wrong_in_file(Mode mode) const {
        TestFile const file(options_.path);
        if (job_.rank == 0 && options_.flip_offset) file.flip_byte(*options_.flip_offset);
        MPI_Barrier(MPI_COMM_WORLD);
        auto finding = file.verify(own_slice(), access_.coverage, mode != Mode::overwrite);
        std::uint64_t const size_bytes = file.size_bytes();
        if (size_bytes != access_.file_bytes && !finding.wrong_offset)
            finding.wrong_offset = std::min(size_bytes, access_.file_bytes);
        return finding;
    }

    /// File offset of the first wrong byte that was read. A spoilt byte in a gap of the buffer
    /// counts as the byte of the file before it.
    [[nodiscard]] std::optional<std::uint64_t> wrong_in_buffer() const {
        std::optional<std::uint64_t> wrong;
        auto const gap_bytes = access_.memory.stride_bytes - access_.memory.piece_bytes;
        access_.for_each_run([&](std::uint64_t at, std::uint64_t offset, std::uint64_t bytes) {
            if (wrong) return;
            std::span<std::byte const> const memory(buffer_);
            auto const difference =
                first_difference(memory.subspan(at, bytes), offset, Salt::asked);
            if (difference) wrong = offset + *difference;
            bool const gap_follows = gap_bytes > 0 && (at + bytes) % access_.memory.stride_bytes ==
                                                          access_.memory.piece_bytes;
            if (!gap_follows || wrong) return;
            auto const gap = memory.subspan(at + bytes, gap_bytes);
            if (std::any_of(gap.begin(), gap.end(), [](std::byte byte) { return byte != poison; }))
                wrong = offset + bytes - 1;
        });
        return wrong;
    }

    void print(Mode mode) const {
        std::ostringstream line;
        line << "{\"pattern\": \"" << pattern_.name << "\", \"mode\": \"" << name_of(mode)
             << "\", \"posix\": " << (options_.posix ? "true" : "false")
             << ", \"ranks\": " << job_.ranks << ", \"bytes\": " << total_bytes_
             << ", \"file_bytes\": " << access_.file_bytes << ", \"calls\": " << access_.calls
             << ", \"spoilt_hole_bytes\": " << spoilt_hole_bytes_
             << ", \"seconds\": " << list(seconds_, [](double seconds) { return seconds; })
             << ", \"mb_per_s\": "
             << list(seconds_,
                     [&](double seconds) {
                         return static_cast<double>(total_bytes_) / seconds / 1e6;
                     })
             << ", \"close_seconds\": "
             << list(close_seconds_, [](double seconds) { return seconds; }) << "}\n";
        std::cout << line.str() << std::flush;
    }

    template <typename Convert>
    static std::string list(std::vector<double> const& values, Convert convert) {
        std::string text = "[";
        for (double const value : values) {
            char number[32];
            std::snprintf(number, sizeof number, "%.6g", convert(value));
            text += (text.size() > 1 ? ", " : "") + std::string(number);
        }
        return text + "]";
    }

    Options const& options_;
    Pattern const& pattern_;
    Job job_;
    Access access_;
    std::uint64_t total_bytes_ = 0;
    std::vector<std::byte> buffer_;
    std::optional<GpuMemory> gpu_;  ///< with the same layout, where the data are on a GPU
    std::optional<Pinned> pinned_;  ///< the buffer, where the program copies between them
    std::vector<double> seconds_;
    std::vector<double> close_seconds_;
    std::uint64_t spoilt_hole_bytes_ = 0;
};

std::vector<Pattern const*> chosen_patterns(Options const& options) {
    std::vector<Pattern const*> chosen;
    for (auto const& name : options.patterns) {
        auto const before = chosen.size();
        for (auto const& pattern : all_patterns())
            if (name == "all" || name == pattern.name) chosen.push_back(&pattern);
        if (chosen.size() == before)
            throw std::invalid_argument("unknown pattern " + name + ", see --list");
    }
    return chosen;
}

/// True if all contents were right.
bool run_all(Options const& options, Job const& job) {
    bool right = true;
    for (Pattern const* pattern : chosen_patterns(options)) {
        Run run(options, *pattern, job);
        for (Mode const mode : options.modes) right = run.measure(mode) && right;
    }
    if (job.rank == 0) unlink_file(options.path);
    return right;
}

int main_of_rank(int argument_count, char** arguments, Job job) {
    Options options;
    try {
        options = parse_options(argument_count, arguments);
        if (!options.help && !options.list) chosen_patterns(options);
    } catch (std::invalid_argument const& error) {
        if (job.rank == 0) std::cerr << error.what() << '\n';
        return 2;
    }
    if (options.help) {
        if (job.rank == 0) std::cout << usage();
        return 0;
    }
    if (options.list) {
        for (auto const& pattern : all_patterns())
            if (job.rank == 0) std::cout << pattern.name << '\t' << pattern.summary << '\n';
        return 0;
    }
    job.bytes = options.bytes;
    return run_all(options, job) ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    bench::Job job;
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    int code = 1;
    try {
        code = bench::main_of_rank(argument_count, arguments, job);
    } catch (std::exception const& error) {
        bench::abort_all("rank " + std::to_string(job.rank) + ": " + error.what());
    }
    MPI_Finalize();
    return code;
}
