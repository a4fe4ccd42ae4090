// How much of nonblocking collective writes goes on while the program computes:
//
//   unisono-bench-overlap.MPI PATH BYTES_PER_RANK_AND_STEP STEPS [split] [multiple] [polling]
//
// split: by split calls. multiple: with MPI_THREAD_MULTIPLE. polling: the computing calls MPI_Test
// every millisecond, as programs do for MPI libraries that go on in calls only. Interleaved pieces
// of 64 KiB. Measured on the slowest rank, in this order, each twice, the second time counts: the
// computing alone, made as long as the writes; the same writes by blocking calls; and both, each
// step computing between the beginning and the end of a write. The ideal takes as long as the
// longer one of the two.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mpi_support.hpp"

namespace {

using bench::check_mpi;

double now_s() { return MPI_Wtime(); }

double slowest(double seconds) { return bench::over_ranks(seconds, MPI_DOUBLE, MPI_MAX); }

// Keeps this core busy; memory is left alone.
void compute(double seconds, MPI_Request* polled = nullptr) {
    constexpr double between_polls_s = 1e-3;
    auto const end = now_s() + seconds;
    auto next_poll = now_s() + between_polls_s;
    volatile double value = 1;
    while (now_s() < end) {
        for (int i = 0; i < 1000; ++i) value = value * 1.0000001;
        if (polled == nullptr || now_s() < next_poll) continue;
        int done = 0;
        check_mpi(MPI_Test(polled, &done, MPI_STATUS_IGNORE), "MPI_Test");
        next_poll = now_s() + between_polls_s;
    }
}

struct Run {
    std::string path;
    std::size_t bytes;
    int steps;
    bool split;
    bool polling;
    std::vector<char> data = std::vector<char>(bytes, 'u');

    enum class What { computing, writing, both };

    double measure(What what, double compute_s) const {
        int rank = 0, ranks = 1;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        constexpr int piece = 64 * 1024;
        MPI_Datatype view = MPI_DATATYPE_NULL;
        MPI_File file = MPI_FILE_NULL;
        auto const pieces = static_cast<int>(bytes) / piece;
        check_mpi(MPI_Type_vector(pieces, piece, piece * ranks, MPI_BYTE, &view),
                  "MPI_Type_vector");
        MPI_Datatype tile = MPI_DATATYPE_NULL;
        check_mpi(MPI_Type_create_resized(view, 0, MPI_Aint{piece} * ranks * pieces, &tile),
                  "MPI_Type_create_resized");
        check_mpi(MPI_Type_commit(&tile), "MPI_Type_commit");
        check_mpi(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                                MPI_INFO_NULL, &file),
                  "MPI_File_open");
        check_mpi(MPI_File_set_view(file, MPI_Offset{piece} * rank, MPI_BYTE, tile, "native",
                                    MPI_INFO_NULL),
                  "MPI_File_set_view");
        MPI_Barrier(MPI_COMM_WORLD);
        auto const begin_s = now_s();
        for (int step = 0; step < steps; ++step) do_step(file, step, what, compute_s);
        auto const seconds = slowest(now_s() - begin_s);
        check_mpi(MPI_File_close(&file), "MPI_File_close");
        MPI_Type_free(&view);
        MPI_Type_free(&tile);
        return seconds;
    }

    void do_step(MPI_File file, int step, What what, double compute_s) const {
        auto const count = static_cast<int>(bytes);
        auto const at = static_cast<MPI_Offset>(bytes) * step;
        if (what == What::computing) return compute(compute_s);
        if (what == What::writing) {
            check_mpi(
                MPI_File_write_at_all(file, at, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE),
                "MPI_File_write_at_all");
        } else if (split) {
            check_mpi(MPI_File_write_at_all_begin(file, at, data.data(), count, MPI_BYTE), "begin");
            compute(compute_s);
            check_mpi(MPI_File_write_at_all_end(file, data.data(), MPI_STATUS_IGNORE), "end");
        } else {
            MPI_Request request = MPI_REQUEST_NULL;
            check_mpi(MPI_File_iwrite_at_all(file, at, data.data(), count, MPI_BYTE, &request),
                      "MPI_File_iwrite_at_all");
            compute(compute_s, polling ? &request : nullptr);
            check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
        }
    }

    double second_time(What what, double compute_s) const {
        measure(what, compute_s);
        return measure(what, compute_s);
    }
};

}  // namespace

int main(int count, char** words) {
    auto const asked = [&](char const* word) {
        return std::any_of(words + std::min(count, 4), words + count,
                           [&](char const* other) { return std::strcmp(other, word) == 0; });
    };
    int provided = 0;
    MPI_Init_thread(&count, &words, asked("multiple") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    if (count < 4) {
        std::fprintf(stderr,
                     "usage: %s PATH BYTES_PER_RANK_AND_STEP STEPS [split] [multiple] [polling]\n",
                     words[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    Run const run{.path = words[1],
                  .bytes = std::strtoull(words[2], nullptr, 10),
                  .steps = std::atoi(words[3]),
                  .split = asked("split"),
                  .polling = asked("polling")};
    auto const writing_s = run.second_time(Run::What::writing, 0);
    auto const step_s = writing_s / run.steps;
    auto const computing_s = run.second_time(Run::What::computing, step_s);
    auto const both_s = run.second_time(Run::What::both, step_s);
    auto const ideal_s = std::max(writing_s, computing_s);
    auto const hidden = (computing_s + writing_s - both_s) / std::min(computing_s, writing_s);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        std::printf(
            "writing %.3f s, computing %.3f s, both %.3f s: %.2f of the ideal, %.0f %% hidden\n",
            writing_s, computing_s, both_s, ideal_s / both_s, 100 * hidden);
        std::remove(run.path.c_str());
    }
    MPI_Finalize();
    return 0;
}
