// MPI_THREAD_MULTIPLE: two threads of each rank, each with its own file. Opening, setting views and
// closing stay in one thread, because there the native library takes part (see its lock below).
#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>

#include "files.hpp"
#include "suites.hpp"

namespace semantics {
namespace {

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

void two_files_on_duplicated_communicators(Context const& context) {
    if (!threads_allowed(context)) return;
    MPI_Comm copies[2];
    for (auto& copy : copies) MPI_Comm_dup(context.comm, &copy);
    run_two_threads(context, copies[0], copies[1]);
    for (auto& copy : copies) MPI_Comm_free(&copy);
}

void two_files_on_the_same_communicator(Context const& context) {
    if (!threads_allowed(context)) return;
    run_two_threads(context, context.comm, context.comm);
}

// Hints make what accesses the file anew, which the other thread was about to use.
void hints_change_while_another_thread_writes_and_reads(Context const& context) {
    if (!threads_allowed(context)) return;
    constexpr int mine_bytes = 4000;
    MPI_File file = open_file(context, context.path());
    Bytes const data = pattern_bytes(MPI_Offset{mine_bytes} * context.rank, mine_bytes);
    std::atomic<bool> over = false;
    std::atomic<int> calls = 0;
    std::thread other([&] {
        Bytes back(mine_bytes);
        auto const begin = MPI_Offset{mine_bytes} * context.rank;
        while (!over) {
            MPI_Request request = MPI_REQUEST_NULL;
            CHECK_MPI(MPI_File_iwrite_at(file, begin, data.data(), mine_bytes, MPI_BYTE, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_File_read_at(file, begin, back.data(), mine_bytes, MPI_BYTE,
                                       MPI_STATUS_IGNORE));
            check_bytes(back, data, "what was read");
            ++calls;
        }
    });
    for (int turn = 0; turn < 40; ++turn) {
        MPI_Info hints = make_info({{"cb_buffer_size", turn % 2 == 0 ? "1048576" : "65536"},
                                    {"unisono_backend", turn % 4 < 2 ? "posix" : "threads"}});
        CHECK_MPI(MPI_File_set_info(file, hints));
        MPI_Info_free(&hints);
        for (int const before = calls; calls == before;) std::this_thread::yield();
    }
    over = true;
    other.join();
    close_file(file);
    check_file(context, context.path(), mine_bytes * static_cast<std::size_t>(context.size));
}

// Each has some under way at any time.
void a_collective_call_goes_on_while_other_threads_begin_calls_without_end(Context const& context) {
    if (!threads_allowed(context)) return;
    constexpr int large = 512 << 10, pending = 4, others = 2, calls_most = 200;
    MPI_Info slow = make_info({{"unisono_faults", "write=delay:3000"}});
    MPI_File file = open_file(context, context.path(), MPI_MODE_CREATE | MPI_MODE_RDWR, slow);
    MPI_Info_free(&slow);
    std::atomic<bool> over = false;
    std::atomic<int> exhausted = 0, begun = 0;
    Bytes const data(large, 1);
    auto const keep_writing = [&](int thread) {
        auto const at = MPI_Offset{large} * (1 + thread + others * context.rank);
        MPI_Request requests[pending];
        std::fill(std::begin(requests), std::end(requests), MPI_REQUEST_NULL);
        int calls = 0;
        for (; calls < calls_most && !over; ++calls) {
            auto& request = requests[calls % pending];
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_File_iwrite_at(file, at, data.data(), large, MPI_BYTE, &request));
            ++begun;
        }
        if (calls == calls_most) ++exhausted;
        CHECK_MPI(MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE));
    };
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < others; ++thread) threads.emplace_back(keep_writing, thread);
    while (begun < others * pending) std::this_thread::yield();
    for (int call = 0; call < 3; ++call)
        CHECK_MPI(
            MPI_File_write_at_all(file, context.rank, data.data(), 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQUAL(exhausted.load(), 0);
    over = true;
    threads.clear();
    close_file(file);
}

}  // namespace

std::span<Test const> thread_tests() {
    constexpr unsigned where = under_unisono | native_openmpi;
    constexpr char const* deadlock =
        "ROMIO of MPICH 4.0.2 holds one lock per process across collective calls: two files lock "
        "up";
    static Test const tests[] = {
        {"two_files_on_duplicated_communicators", two_files_on_duplicated_communicators, where,
         deadlock},
        {"two_files_on_the_same_communicator", two_files_on_the_same_communicator, where, deadlock},
        {"hints_change_while_another_thread_writes_and_reads",
         hints_change_while_another_thread_writes_and_reads, under_unisono,
         "the hints are Unisono's"},
        {"a_collective_call_goes_on_while_other_threads_begin_calls_without_end",
         a_collective_call_goes_on_while_other_threads_begin_calls_without_end, under_unisono,
         deadlock},
    };
    return tests;
}

}  // namespace semantics
