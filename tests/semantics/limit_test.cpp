// RLIMIT_FSIZE with SIGXFSZ ignored: the kernel itself cuts the write short. Open MPI 4.1.4
// natively returns success and full counts for such a call and loses most of the data; MPICH 4.0.2
// returns an error with full counts.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* success_or_full_counts =
    "Open MPI 4.1.4 says success, MPICH 4.0.2 gives full counts";

/// Lowers the soft limit of the file size in this process, until destroyed.
class FileSizeLimit {
public:
    explicit FileSizeLimit(MPI_Offset bytes) {
        getrlimit(RLIMIT_FSIZE, &before_);
        previous_ = signal(SIGXFSZ, SIG_IGN);
        rlimit lower = before_;
        lower.rlim_cur = static_cast<rlim_t>(bytes);
        CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &lower), 0);
    }
    ~FileSizeLimit() {
        setrlimit(RLIMIT_FSIZE, &before_);
        signal(SIGXFSZ, previous_);
    }

private:
    rlimit before_{};
    void (*previous_)(int) = SIG_DFL;
};

// High enough for whatever else the process keeps in files (shared memory); the file is sparse.
constexpr MPI_Offset limit_bytes = 256LL << 20;

struct Outcome {
    int code;
    long long count;
};

Outcome write_across_the_limit(Context const& context, DealtView const& view, int asked) {
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, static_cast<std::size_t>(asked));
    MPI_Status status;
    Outcome outcome{};
    {
        FileSizeLimit const limit(limit_bytes);
        outcome.code = MPI_File_write_at_all(file, 0, data.data(), asked, MPI_BYTE, &status);
        outcome.count = count_of(status);
    }
    // The limit is gone: the same call succeeds now.
    CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), asked, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), asked);
    check_read_at_all(file, 0, data, "after the error");
    close_file(file);
    return outcome;
}

TEST(a_write_across_the_limit_is_an_error_on_all_ranks, under_unisono, success_or_full_counts) {
    constexpr int block = 4096, blocks = 8;
    auto const begin = limit_bytes - 3LL * block * context.size - block / 2;
    DealtView const view(context, block, MPI_BYTE, begin);
    auto const outcome = write_across_the_limit(context, view, blocks * block);
    CHECK(outcome.code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(outcome.code)));
    CHECK_EQUAL(outcome.count, view.bytes_below(limit_bytes));
}

TEST(small_pieces_across_the_limit, under_unisono, success_or_full_counts) {
    auto const begin = limit_bytes - 3000LL * context.size;
    DealtView const view(context, 24, MPI_BYTE, begin);
    auto const outcome = write_across_the_limit(context, view, 24 * 400);
    CHECK(outcome.code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(outcome.code)));
    CHECK_EQUAL(outcome.count, view.bytes_below(limit_bytes));
}

// The count is true with holes too: what is claimed is in the file, and nothing beyond the limit.
TEST(pieces_with_holes_across_the_limit, under_unisono, success_or_full_counts) {
    constexpr int used = 16, step = 48, pieces = 300;
    auto const begin = limit_bytes - 100LL * step * context.size;
    Type const tile = make_resized(0, static_cast<MPI_Aint>(step) * context.size,
                                   make_contiguous(used, MPI_BYTE));
    MPI_File file = open_file(context, context.path());
    MPI_Offset const mine = begin + static_cast<MPI_Offset>(step) * context.rank;
    CHECK_MPI(MPI_File_set_view(file, mine, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    Bytes const data(used * pieces, 77);
    MPI_Status status;
    int code = MPI_SUCCESS;
    {
        FileSizeLimit const limit(limit_bytes);
        code = MPI_File_write_at_all(file, 0, data.data(), used * pieces, MPI_BYTE, &status);
    }
    CHECK(code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(code)));
    auto const count = count_of(status);
    CHECK(count >= 0 && count <= used * 100);
    Bytes back(data.size(), 0);
    CHECK_MPI(MPI_File_read_at(file, 0, back.data(), used * pieces, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(matching_prefix(back, data) >= static_cast<std::size_t>(std::max(0LL, count)));
    CHECK(size_of(file) <= limit_bytes);
    close_file(file);
}

/// The program has all descriptors that it may have in use, until destroyed.
class AllDescriptors {
public:
    AllDescriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        auto lower = before_;
        lower.rlim_cur = 200;
        CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &lower), 0);
        for (int one = open_one(); one >= 0; one = open_one()) all_.push_back(one);
    }
    ~AllDescriptors() {
        for (int const one : all_) close(one);
        setrlimit(RLIMIT_NOFILE, &before_);
    }
    AllDescriptors(AllDescriptors const&) = delete;
    AllDescriptors& operator=(AllDescriptors const&) = delete;

private:
    static int open_one() { return open("/dev/null", O_RDONLY); }

    rlimit before_{};
    std::vector<int> all_;
};

TEST(a_nonblocking_call_ended_programs_that_had_all_descriptors_in_use) {
    DealtView const view(context, 1000);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 64000);
    CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), 64000, MPI_BYTE, MPI_STATUS_IGNORE));
    {
        AllDescriptors const in_use;
        MPI_Request request = MPI_REQUEST_NULL;
        CHECK_MPI(MPI_File_iwrite_at_all(file, 0, data.data(), 64000, MPI_BYTE, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    check_read_at_all(file, 0, data, "afterwards");
    close_file(file);
}

}  // namespace

}  // namespace semantics
