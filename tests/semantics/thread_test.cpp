// MPI_THREAD_MULTIPLE: two threads of each rank, each with its own file. Opening, setting views and
// closing stay in one thread, because there the native library takes part (see its lock below).
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <thread>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* deadlock =
    "ROMIO of MPICH 4.0.2 holds one lock per process across collective calls: two files lock "
    "up";

void use_one_file(MPI_File file, DealtView const& view, int calls) {
    constexpr int call_bytes = 4000;
    Bytes back(call_bytes);
    for (int call = 0; call < calls; ++call) {
        Bytes const data = view.data(call * call_bytes, call_bytes);
        MPI_Status status;
        CHECK_MPI(MPI_File_write_all(file, data.data(), call_bytes, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), call_bytes);
        CHECK_MPI(MPI_File_read_at_all(file, call * call_bytes, back.data(), call_bytes, MPI_BYTE,
                                       &status));
        check_bytes(back, data, "what was read");
        CHECK_MPI(MPI_File_write_at(file, call * call_bytes, data.data(), 100, MPI_BYTE, &status));
    }
}

bool threads_allowed(Context const& context) {
    if (context.thread_level == MPI_THREAD_MULTIPLE) return true;
    skip("no MPI_THREAD_MULTIPLE");
    return false;
}

void run_two_threads(Context const& context, MPI_Comm first, MPI_Comm second) {
    MPI_File files[2] = {MPI_FILE_NULL, MPI_FILE_NULL};
    int const mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    CHECK_MPI(MPI_File_open(first, context.path("a").c_str(), mode, MPI_INFO_NULL, &files[0]));
    CHECK_MPI(MPI_File_open(second, context.path("b").c_str(), mode, MPI_INFO_NULL, &files[1]));
    DealtView const views[2] = {DealtView(context, 20), DealtView(context, 500)};
    for (int i = 0; i < 2; ++i) CHECK_MPI(views[i].set(files[i]));
    std::thread other([&] { use_one_file(files[1], views[1], 15); });
    use_one_file(files[0], views[0], 20);
    other.join();
    for (auto& file : files) close_file(file);
    check_file(context, context.path("a"), 80000 * static_cast<std::size_t>(context.size));
    check_file(context, context.path("b"), 60000 * static_cast<std::size_t>(context.size));
}

TEST(two_files_on_duplicated_communicators, all_but_native_mpich, deadlock) {
    if (!threads_allowed(context)) return;
    MPI_Comm copies[2];
    for (auto& copy : copies) MPI_Comm_dup(context.comm, &copy);
    run_two_threads(context, copies[0], copies[1]);
    for (auto& copy : copies) MPI_Comm_free(&copy);
}

TEST(two_files_on_the_same_communicator, all_but_native_mpich, deadlock) {
    if (!threads_allowed(context)) return;
    run_two_threads(context, context.comm, context.comm);
}

// Hints make what accesses the file anew, which the other thread was about to use.
TEST(hints_change_while_another_thread_writes_and_reads, under_unisono, "the hints are Unisono's") {
    if (!threads_allowed(context)) return;
    constexpr int mine_bytes = 4000;
    MPI_File file = open_file(context, context.path());
    Bytes const data = pattern_bytes(MPI_Offset{mine_bytes} * context.rank, mine_bytes);
    std::atomic<bool> over = false;
    std::atomic<int> calls = 0;
    std::thread other([&] {
        auto const begin = MPI_Offset{mine_bytes} * context.rank;
        while (!over) {
            MPI_Request request = MPI_REQUEST_NULL;
            CHECK_MPI(MPI_File_iwrite_at(file, begin, data.data(), mine_bytes, MPI_BYTE, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            check_read_at(file, begin, data);
            ++calls;
        }
    });
    for (int turn = 0; turn < 40; ++turn) {
        Info const hints{{"cb_buffer_size", turn % 2 == 0 ? "1048576" : "65536"},
                         {"unisono_backend", turn % 4 < 2 ? "posix" : "threads"}};
        CHECK_MPI(MPI_File_set_info(file, hints));
        for (int const before = calls; calls == before;) std::this_thread::yield();
    }
    over = true;
    other.join();
    close_file(file);
    check_file(context, context.path(), mine_bytes * static_cast<std::size_t>(context.size));
}

// Threads that do the same again and again until this ends, but not for ever.
class Busy {
public:
    /// `call(thread, number)`
    Busy(int threads, std::function<void(int, int)> const& call) {
        for (int thread = 0; thread < threads; ++thread)
            threads_.emplace_back([this, call, thread] {
                int done = 0;
                for (; done < calls_most && !over_; ++done, ++done_) call(thread, done);
                if (done == calls_most) exhausted_ = true;
            });
    }
    ~Busy() { over_ = true; }  // and the threads are waited for
    Busy(Busy const&) = delete;
    Busy& operator=(Busy const&) = delete;

    void wait_for_calls(int calls) const {
        while (done_ < calls) std::this_thread::yield();
    }
    [[nodiscard]] bool exhausted() const { return exhausted_; }

private:
    static constexpr int calls_most = 500;
    std::atomic<bool> over_ = false;
    std::atomic<bool> exhausted_ = false;
    std::atomic<int> done_ = 0;
    std::vector<std::jthread> threads_;
};

TEST(a_collective_call_goes_on_while_other_threads_begin_calls_without_end, under_unisono,
     deadlock) {
    if (!threads_allowed(context)) return;
    constexpr int large = 512 << 10, under_way = 4, threads = 2;
    MPI_File file = open_slow_file(context, 2000);
    Bytes const data(large, 1);
    std::array<std::array<MPI_Request, under_way>, threads> requests;
    for (auto& of_thread : requests) of_thread.fill(MPI_REQUEST_NULL);
    {
        Busy const others(threads, [&](int thread, int call) {
            auto& request = requests[thread][call % under_way];
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_File_iwrite_at(file, MPI_Offset{large} * (1 + thread), data.data(), large,
                                         MPI_BYTE, &request));
        });
        others.wait_for_calls(threads * under_way);
        CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(!others.exhausted());
    }
    for (auto& of_thread : requests)
        CHECK_MPI(MPI_Waitall(under_way, of_thread.data(), MPI_STATUSES_IGNORE));
    close_file(file);
}

// At any time one of them is in a call.
TEST(hints_change_while_many_threads_write_without_end, under_unisono, deadlock) {
    if (!threads_allowed(context)) return;
    constexpr int threads = 6;
    MPI_File file = open_slow_file(context, 1000);
    Bytes const data(100, 1);
    {
        Busy const others(threads, [&](int thread, int) {
            CHECK_MPI(MPI_File_write_at(file, 100 * thread, data.data(), 100, MPI_BYTE,
                                        MPI_STATUS_IGNORE));
        });
        others.wait_for_calls(threads);
        Info const hints{{"cb_buffer_size", "65536"}};
        CHECK_MPI(MPI_File_set_info(file, hints));
        CHECK(!others.exhausted());
    }
    close_file(file);
}

// Blocks were read meanwhile, in which nobody had asked for its bytes.
TEST(what_is_written_while_another_thread_reads_ahead_is_read_later, under_unisono,
     faults_are_ours) {
    if (!threads_allowed(context)) return;
    constexpr int bytes = 2000, written_at = 12'000;
    DealtView const view(context, 64);
    prepare_file(context, context.path(), std::size_t{100'000} * context.size);
    MPI_File file = open_with(context, {{"unisono_strategy", "view_based"},
                                        {"unisono_read_ahead", "enable"},
                                        {"unisono_faults", "write=delay:300000"}});
    CHECK_MPI(view.set(file));
    Bytes const data(bytes, 0);
    Bytes back(bytes);
    std::thread writer([&] {
        CHECK_MPI(
            MPI_File_write_at(file, written_at, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    auto const read_at = [&](MPI_Offset offset) {
        CHECK_MPI(
            MPI_File_read_at_all(file, offset, back.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    };
    for (int call = 0; call < 4; ++call) read_at(bytes * call);
    writer.join();
    read_at(written_at);
    check_bytes(back, data, "what was written");
    close_file(file);
}

// A sync that came while it was under way took note of it, and had nothing to sync yet.
TEST(what_is_written_while_another_thread_syncs_is_left_to_the_next_sync, under_unisono,
     faults_are_ours) {
    if (!threads_allowed(context)) return;
    MPI_File file = open_slow_file(context, 300'000);
    std::thread writer(
        [&] { CHECK_MPI(MPI_File_write_at(file, 0, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE)); });
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    CHECK_MPI(MPI_File_sync(file));
    writer.join();
    CHECK_MPI(MPI_File_set_info(file, Info{{"unisono_faults", "sync=EIO"}}));
    CHECK_FAILS(MPI_File_sync(file));
    close_file(file);
}

// The first two calls on it, each of which needs what the other one may be making.
TEST(two_threads_begin_to_use_a_file_of_one_rank, under_unisono, deadlock) {
    if (!threads_allowed(context)) return;
    constexpr int large = 300 << 10;
    Bytes const data = pattern_bytes(0, 2 * large);
    auto const path = context.path("own" + std::to_string(context.rank));
    for (int round = 0; round < 50; ++round) {
        MPI_File file = MPI_FILE_NULL;
        CHECK_MPI(MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                                MPI_INFO_NULL, &file));
        std::barrier begun(2);
        std::thread other([&] {
            begun.arrive_and_wait();
            MPI_Request request = MPI_REQUEST_NULL;
            CHECK_MPI(
                MPI_File_iwrite_at(file, large, data.data() + large, large, MPI_BYTE, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        });
        begun.arrive_and_wait();
        CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), large, MPI_BYTE, MPI_STATUS_IGNORE));
        other.join();
        close_file(file);
    }
    check_bytes(read_whole(path), data, "the file");
}

// Positions of a rank's view that one of its threads alone writes and reads.
class Region {
public:
    static constexpr std::size_t bytes = 400'000;

    Region(MPI_File file, int rank, int thread)
        : file_(file),
          begin_(static_cast<MPI_Offset>(bytes) * thread),
          expected_(bytes),
          dice_(static_cast<unsigned>(100 * rank + thread)) {}

    void write_or_read() {
        // Large ones are done by a helper thread where they are nonblocking.
        auto const length = 1 + dice_() % (dice_() % 8 == 0 ? bytes : 3000);
        auto const at = dice_() % (bytes - length + 1);
        auto* const data = expected_.data() + at;
        Bytes back(length);
        auto const offset = begin_ + static_cast<MPI_Offset>(at);
        auto const count = static_cast<int>(length);
        MPI_Request request = MPI_REQUEST_NULL;
        auto const writes = dice_() % 2 == 0, waits = dice_() % 2 == 0;
        if (writes) std::fill_n(data, length, static_cast<std::uint8_t>(dice_()));
        if (writes && waits)
            CHECK_MPI(MPI_File_iwrite_at(file_, offset, data, count, MPI_BYTE, &request));
        else if (writes)
            CHECK_MPI(MPI_File_write_at(file_, offset, data, count, MPI_BYTE, MPI_STATUS_IGNORE));
        else if (waits)
            CHECK_MPI(MPI_File_iread_at(file_, offset, back.data(), count, MPI_BYTE, &request));
        else
            CHECK_MPI(
                MPI_File_read_at(file_, offset, back.data(), count, MPI_BYTE, MPI_STATUS_IGNORE));
        if (waits) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (!writes) check_bytes(back, {data, data + length}, "what a thread has written");
    }

    // Collective.
    void write_together(unsigned way) {
        auto const count = static_cast<int>(bytes / 10);
        std::fill_n(expected_.data(), count, static_cast<std::uint8_t>(dice_()));
        MPI_Request request = MPI_REQUEST_NULL;
        if (way == 0) {
            CHECK_MPI(
                MPI_File_iwrite_at_all(file_, begin_, expected_.data(), count, MPI_BYTE, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (way == 1) {
            CHECK_MPI(
                MPI_File_write_at_all_begin(file_, begin_, expected_.data(), count, MPI_BYTE));
            CHECK_MPI(MPI_File_write_at_all_end(file_, expected_.data(), MPI_STATUS_IGNORE));
        } else {
            CHECK_MPI(MPI_File_write_at_all(file_, begin_, expected_.data(), count, MPI_BYTE,
                                            MPI_STATUS_IGNORE));
        }
    }

    // Collective.
    void read_together() const {
        Bytes back(bytes / 10);
        CHECK_MPI(MPI_File_read_at_all(file_, begin_, back.data(), static_cast<int>(back.size()),
                                       MPI_BYTE, MPI_STATUS_IGNORE));
        check_bytes(back, {expected_.data(), expected_.data() + back.size()}, "what ranks wrote");
    }

private:
    MPI_File file_;
    MPI_Offset begin_;
    Bytes expected_;
    std::mt19937 dice_;
};

void ask_about(MPI_File file) {
    MPI_Offset offset = -1, displacement = -1;
    MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
    char representation[MPI_MAX_DATAREP_STRING];
    int atomic = -1;
    CHECK_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
    MPI_Type_free(&filetype);
    CHECK_MPI(MPI_File_get_size(file, &offset));
    CHECK_MPI(MPI_File_get_byte_offset(file, 1000, &offset));
    CHECK_MPI(MPI_File_get_atomicity(file, &atomic));
    CHECK(!info_value(file, "unisono_strategy").empty());
}

// What changes the file as a whole.
void change(Context const& context, MPI_File file, DealtView const& view, unsigned number) {
    static char const* const values[][3] = {{"two_phase", "disable", "posix"},
                                            {"view_based", "enable", "threads"},
                                            {"auto", "enable", "mapped"},
                                            {"independent", "disable", "uring"}};
    auto const& [strategy, behind, backend] = values[number / 5 % std::size(values)];
    Info const hints{{"unisono_strategy", strategy},
                     {"unisono_write_behind", behind},
                     {"unisono_backend", backend}};
    if (number % 5 == 0) CHECK_MPI(MPI_File_set_info(file, hints));
    if (number % 5 == 1) CHECK_MPI(MPI_File_set_atomicity(file, number % 2));
    if (number % 5 == 2) CHECK_MPI(MPI_File_sync(file));
    if (number % 5 == 3) CHECK_MPI(view.set(file));
    if (number % 5 == 4)
        CHECK_MPI(MPI_File_preallocate(file, MPI_Offset{4 * Region::bytes} * context.size));
}

TEST(threads_share_a_handle_with_collective_calls, under_unisono, deadlock) {
    if (!threads_allowed(context)) return;
    DealtView const view(context, 1000);
    MPI_File file = open_file(context, view);
    CHECK_MPI(MPI_File_preallocate(file, MPI_Offset{4 * Region::bytes} * context.size));
    std::deque<Region> regions;
    for (int thread = 0; thread < 3; ++thread) regions.emplace_back(file, context.rank, thread);
    {
        Busy const others(2, [&](int thread, int call) {
            regions[static_cast<std::size_t>(thread) + 1].write_or_read();
            if (call % 8 == 0) ask_about(file);
        });
        for (unsigned round = 0; round < 40; ++round) {
            regions[0].write_together(round % 3);
            regions[0].read_together();
            change(context, file, view, round);
        }
    }
    close_file(file);
}

// What each has in memory lies beside what the others write.
TEST(threads_have_handles_of_one_file, under_unisono, deadlock) {
    if (!threads_allowed(context)) return;
    constexpr int threads = 3;
    DealtView const view(context, 1000);
    Info const behind{{"unisono_write_behind", "enable"}, {"unisono_read_ahead", "enable"}};
    std::array<MPI_Comm, threads> comms;
    std::array<MPI_File, threads> files;
    std::deque<Region> regions;
    for (int i = 0; i < threads; ++i) {
        auto& file = files[static_cast<std::size_t>(i)];
        MPI_Comm_dup(context.comm, &comms[static_cast<std::size_t>(i)]);
        CHECK_MPI(MPI_File_open(comms[static_cast<std::size_t>(i)], context.path().c_str(),
                                MPI_MODE_CREATE | MPI_MODE_RDWR, behind, &file));
        CHECK_MPI(view.set(file));
        CHECK_MPI(MPI_File_preallocate(file, MPI_Offset{threads * Region::bytes} * context.size));
        regions.emplace_back(file, context.rank, i);
    }
    {
        std::vector<std::jthread> users;
        users.reserve(threads);
        for (auto& region : regions)
            users.emplace_back([&region] {
                for (unsigned round = 0; round < 30; ++round) {
                    region.write_together(round % 3);
                    for (int call = 0; call < 4; ++call) region.write_or_read();
                    region.read_together();
                }
            });
    }
    for (auto& file : files) close_file(file);
    for (auto& comm : comms) MPI_Comm_free(&comm);
}

// Of what Unisono shares between ranks.
long long shared_mappings() {
    std::ifstream maps("/proc/self/maps");
    long long count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find("memfd:unisono") != std::string::npos ? 1 : 0;
    return count;
}

MPI_File open_and_write(MPI_Comm comm, std::string const& path, DealtView const& view,
                        MPI_Info hints) {
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file));
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 10000);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 10000, MPI_BYTE, MPI_STATUS_IGNORE));
    return file;
}

// Freeing a communicator waits for the other ranks where its file has something in memory, and had
// hold of all files meanwhile: what another thread closed was ended by the one that waited.
TEST(what_a_thread_closes_ends_while_another_one_frees_a_communicator, under_unisono,
     "the memory is Unisono's") {
    if (!threads_allowed(context)) return;
    MPI_Comm going = MPI_COMM_NULL;
    MPI_Comm_dup(context.comm, &going);
    Info const in_memory{{"unisono_strategy", "view_based"}};
    DealtView const view(context, 100);
    MPI_File left = open_and_write(going, context.path("left"), view, in_memory);
    auto const before = shared_mappings();
    MPI_File closed = open_and_write(context.comm, context.path("closed"), view, MPI_INFO_NULL);
    std::thread frees;
    if (context.root()) {
        frees = std::thread{[&] { MPI_Comm_free(&going); }};
        std::this_thread::sleep_for(std::chrono::milliseconds{100});  // it may be waiting by now
    }
    close_file(closed);
    CHECK_EQUAL(shared_mappings(), before);
    context.barrier();
    if (context.root())
        frees.join();
    else
        MPI_Comm_free(&going);
    close_file(left);
}

// Calls look at what others have in memory of their file, and had hold of all its handles
// meanwhile: what another thread closed was ended by the one that looked.
TEST(what_a_thread_closes_ends_while_another_one_looks_at_it, under_unisono,
     "the memory is Unisono's") {
    if (!threads_allowed(context)) return;
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, context.path().c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &file));
    context.barrier();
    auto const before = shared_mappings();
    {
        std::jthread const writer{[&](std::stop_token const& stop) {
            while (!stop.stop_requested())
                CHECK_MPI(
                    MPI_File_write_at(file, context.rank, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
        }};
        for (int round = 0; round < 20; ++round) {
            MPI_File closed = open_file(context, context.path());
            close_file(closed);
            CHECK_EQUAL(shared_mappings(), before);
        }
    }
    close_file(file);
}

// Before there is a view the MPI library has the shared file pointers, each behind a lock of the
// whole process: ROMIO ended the program.
TEST(the_kernel_took_two_threads_at_shared_pointers_for_a_deadlock, all_but_native_mpich,
     "MPICH 4.0.2 does not hold its lock in this call", 2) {
    if (!threads_allowed(context)) return;
    MPI_File const files[] = {open_file(context, context.path("a")),
                              open_file(context, context.path("b"))};
    auto const ask = [](MPI_File file) {
        constexpr int times = 5000;
        MPI_Offset position = 0;
        for (int i = 0; i < times; ++i) CHECK_MPI(MPI_File_get_position_shared(file, &position));
    };
    std::thread other(ask, files[1]);
    ask(files[0]);
    other.join();
    for (auto file : files) close_file(file);
}

}  // namespace

}  // namespace semantics
