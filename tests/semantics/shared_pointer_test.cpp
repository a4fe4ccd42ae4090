// The shared file pointer is Unisono's or the native library's, and moves from one to the other.
// View and pointers must be right whoever does which call.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <set>

#include "files.hpp"

namespace semantics {
namespace {

// All ranks must have the same view to use shared pointers: every second int, from byte 16.
Type every_second_int() { return make_resized(0, 8, make_contiguous(1, MPI_INT)); }

// The same, as the MPI library need not know it at once.
Type every_second_int_as_struct() {
    int const lengths[] = {1, 1};
    MPI_Aint const offsets[] = {0, 8};
    MPI_Datatype const types[] = {MPI_INT, MPI_INT};
    MPI_Datatype both = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, offsets, types, &both);
    return make_resized(0, 16, Type{both});
}

std::vector<int> ints_of(Bytes const& whole, std::size_t begin, std::size_t stride_bytes) {
    std::vector<int> result;
    for (auto at = begin; at + sizeof(int) <= whole.size(); at += stride_bytes) {
        int value = 0;
        std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(at), sizeof value,
                    reinterpret_cast<std::uint8_t*>(&value));
        result.push_back(value);
    }
    return result;
}

TEST(ordered_calls_through_a_view) {
    Type const tile = every_second_int();
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 16, MPI_INT, tile, "native", MPI_INFO_NULL));
    std::vector<int> mine(static_cast<std::size_t>(context.rank) + 1, 100 + context.rank);
    auto const count = static_cast<int>(mine.size());
    int const total = context.size * (context.size + 1) / 2;
    CHECK_MPI(MPI_File_write_ordered(file, mine.data(), count, MPI_INT, MPI_STATUS_IGNORE));
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), total);
    CHECK_EQUAL(position_of(file), 0);
    context.barrier();
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    std::vector<int> back(mine.size());
    CHECK_MPI(MPI_File_read_ordered(file, back.data(), count, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(back == mine);
    close_file(file);
    context.barrier();
    if (context.root()) {
        std::vector<int> expected;
        for (int rank = 0; rank < context.size; ++rank)
            expected.insert(expected.end(), static_cast<std::size_t>(rank) + 1, 100 + rank);
        CHECK(ints_of(read_whole(context.path()), 16, 8) == expected);
    }
    context.barrier();
}

TEST(the_two_pointers_do_not_touch_each_other) {
    Type const tile = every_second_int();
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL));
    // [0, size): collective by individual pointer; [size, 2 size): ordered.
    int const value = 1000 + context.rank;
    CHECK_MPI(MPI_File_seek(file, context.rank, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(shared_position_of(file), 0);
    context.barrier();
    CHECK_MPI(MPI_File_seek_shared(file, context.size, MPI_SEEK_SET));
    int const ordered = 2000 + context.rank;
    CHECK_MPI(MPI_File_write_ordered(file, &ordered, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), context.rank + 1);
    int back = 0;
    CHECK_MPI(MPI_File_read_at_all(file, context.size + context.rank, &back, 1, MPI_INT,
                                   MPI_STATUS_IGNORE));
    CHECK_EQUAL(back, ordered);
    close_file(file);
    context.barrier();
    if (context.root()) {
        auto const ints = ints_of(read_whole(context.path()), 0, 8);
        CHECK_EQUAL(ints.size(), static_cast<std::size_t>(2 * context.size));
        for (int rank = 0; rank < context.size && ints.size() == 2u * context.size; ++rank) {
            CHECK_EQUAL(ints[static_cast<std::size_t>(rank)], 1000 + rank);
            CHECK_EQUAL(ints[static_cast<std::size_t>(context.size + rank)], 2000 + rank);
        }
    }
    context.barrier();
}

TEST(shared_writes_lose_nothing) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    constexpr int calls = 5;
    for (int call = 0; call < calls; ++call) {
        int const record = 1 + context.rank * calls + call;
        CHECK_MPI(MPI_File_write_shared(file, &record, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), calls * context.size);
    close_file(file);
    context.barrier();
    if (context.root()) {
        auto const ints = ints_of(read_whole(context.path()), 0, 4);
        std::set<int> const different(ints.begin(), ints.end());
        CHECK_EQUAL(ints.size(), static_cast<std::size_t>(calls * context.size));
        CHECK_EQUAL(different.size(), ints.size());
        CHECK_EQUAL(different.count(0), 0u);
    }
    context.barrier();
}

TEST(ordered_split_calls) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    int const value = 50 + context.rank;
    CHECK_MPI(MPI_File_write_ordered_begin(file, &value, 1, MPI_INT));
    CHECK_MPI(MPI_File_write_ordered_end(file, &value, MPI_STATUS_IGNORE));
    int back = 0;
    CHECK_MPI(MPI_File_read_at_all(file, context.rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(back, value);
    close_file(file);
}

// Ordered calls and others with the shared pointer move the same pointer.
TEST(ordered_and_shared_calls_mixed) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    context.barrier();
    int const first = 1;
    if (context.root())
        CHECK_MPI(MPI_File_write_shared(file, &first, 1, MPI_INT, MPI_STATUS_IGNORE));
    context.barrier();
    // Rank 0 has nothing to write, the others one more each.
    std::vector<int> const mine(static_cast<std::size_t>(context.rank), 10 + context.rank);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_ordered(file, mine.data(), context.rank, MPI_INT, &status));
    CHECK_EQUAL(count_of(status, MPI_INT), context.rank);
    int const last = 2;
    int const total = 1 + context.size * (context.size - 1) / 2;
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), total);
    context.barrier();
    CHECK_MPI(MPI_File_sync(file));  // the MPI library does the next call
    if (context.rank == context.size - 1)
        CHECK_MPI(MPI_File_write_shared(file, &last, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(file);
    context.barrier();
    if (context.root()) {
        std::vector<int> expected{first};
        for (int rank = 0; rank < context.size; ++rank)
            expected.insert(expected.end(), static_cast<std::size_t>(rank), 10 + rank);
        expected.push_back(last);
        CHECK(ints_of(read_whole(context.path()), 0, 4) == expected);
    }
    context.barrier();
}

// Nobody meets between the two: the last rank may come to the ordered call when the others have
// long been there.
TEST(an_ordered_call_begins_after_what_a_rank_did_alone) {
    if (strategy_is_forced()) return skip("UNISONO_STRATEGY is set");  // memory, not the file
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    constexpr int calls = 10;
    int const alone = 1, together = 2;
    for (int call = 0; call < calls; ++call) {
        if (context.rank == context.size - 1)
            CHECK_MPI(MPI_File_write_shared(file, &alone, 1, MPI_INT, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_File_write_ordered(file, &together, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    close_file(file);
    context.barrier();
    if (context.root()) {
        auto const ints = ints_of(read_whole(context.path()), 0, 4);
        CHECK_EQUAL(ints.size(), static_cast<std::size_t>(calls * (context.size + 1)));
        CHECK_EQUAL(std::count(ints.begin(), ints.end(), alone), calls);
    }
    context.barrier();
}

TEST(the_shared_pointer_is_set_from_here_and_from_the_end, all_but_native_openmpi,
     "Open MPI 4.1.4 leaves out the displacement") {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    int const value = 1 + context.rank;
    CHECK_MPI(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    context.barrier();
    CHECK_MPI(MPI_File_seek_shared(file, 2, MPI_SEEK_CUR));
    CHECK_EQUAL(shared_position_of(file), context.size + 2);
    context.barrier();
    CHECK_MPI(MPI_File_seek_shared(file, 1, MPI_SEEK_END));
    CHECK_EQUAL(shared_position_of(file), context.size + 1);
    context.barrier();
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    int read = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iread_shared(file, &read, 1, MPI_INT, &request));
    MPI_Status status;
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_EQUAL(count_of(status, MPI_INT), 1);
    int sum = 0;
    MPI_Allreduce(&read, &sum, 1, MPI_INT, MPI_SUM, context.comm);
    CHECK_EQUAL(sum, context.size * (context.size + 1) / 2);
    close_file(file);
}

// Each rank has written its number, from 1 on, twice: in any order.
void close_with_two_of_each_rank(Context const& context, MPI_File& file) {
    close_file(file);
    context.barrier();
    if (context.root()) {
        auto ints = ints_of(read_whole(context.path()), 0, 4);
        std::sort(ints.begin(), ints.end());
        CHECK_EQUAL(ints.size(), 2u * context.size);
        for (std::size_t i = 0; i < ints.size(); ++i)
            CHECK_EQUAL(ints[i], 1 + static_cast<int>(i) / 2);
    }
    context.barrier();
}

// A seek that is wrong on one rank moved the pointer of the others, which then wrote over each
// other.
TEST(a_seek_that_is_wrong_on_one_rank_moves_no_pointer, under_unisono,
     "the libraries wait for ever, or take each rank's word") {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    int const value = 1 + context.rank;
    CHECK_MPI(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    context.barrier();
    auto const last = context.rank == context.size - 1;
    for (int turn = 0; turn < 40; ++turn) {
        int const code = MPI_File_seek_shared(file, last ? -1 : 0, MPI_SEEK_SET);
        CHECK_EQUAL(error_class(code), context.size > 1 ? MPI_ERR_NOT_SAME : MPI_ERR_ARG);
        CHECK_FAILS(MPI_File_seek_shared(file, 0, last ? -77 : MPI_SEEK_SET));
        CHECK_EQUAL(error_class(MPI_File_seek_shared(file, -100, MPI_SEEK_CUR)), MPI_ERR_ARG);
    }
    CHECK_EQUAL(shared_position_of(file), context.size);
    context.barrier();
    CHECK_MPI(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_with_two_of_each_rank(context, file);
}

// Where it began to count anew from -2^63, and ordered calls wrote to where that comes to.
TEST(no_pointer_goes_beyond_what_can_be_counted, under_unisono,
     "the libraries' pointers wrap round") {
    constexpr MPI_Offset far = std::numeric_limits<MPI_Offset>::max() - 5;
    MPI_File file = open_file(context, context.path());
    CHECK_EQUAL(error_class(MPI_File_seek_shared(file, far, MPI_SEEK_SET)), MPI_ERR_ARG);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_seek_shared(file, far, MPI_SEEK_SET));
    Bytes const data(10, 1);
    for (int turn = 0; turn < 3; ++turn) {
        CHECK_EQUAL(
            error_class(MPI_File_write_shared(file, data.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE)),
            MPI_ERR_ARG);
        context.barrier();
        CHECK_EQUAL(
            error_class(MPI_File_write_ordered(file, data.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE)),
            MPI_ERR_ARG);
        CHECK_EQUAL(error_class(MPI_File_seek_shared(file, 10, MPI_SEEK_CUR)), MPI_ERR_ARG);
        CHECK_EQUAL(shared_position_of(file), far);
        context.barrier();
    }
    CHECK_EQUAL(size_of(file), 0);
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_write_ordered(file, data.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQUAL(size_of(file), 10LL * context.size);
    close_file(file);
}

/// The first rank has no descriptor left meanwhile.
class NoDescriptor {
public:
    explicit NoDescriptor(Context const& context) : here_{context.root()} {
        getrlimit(RLIMIT_NOFILE, &before_);
        rlimit none = before_;
        int const next = open("/dev/null", O_RDONLY);
        close(next);
        none.rlim_cur = static_cast<rlim_t>(next);
        if (here_) CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    ~NoDescriptor() {
        if (here_) setrlimit(RLIMIT_NOFILE, &before_);
    }
    NoDescriptor(NoDescriptor const&) = delete;
    NoDescriptor& operator=(NoDescriptor const&) = delete;

private:
    bool here_;
    rlimit before_{};
};

// ROMIO keeps it in a file, which the first rank cannot open: there the others waited for ever.
TEST(a_pointer_that_the_library_cannot_tell_is_the_same_error_on_all, under_unisono,
     "MPICH 4.0.2 hangs") {
    MPI_File file = open_file(context, context.path());
    Bytes const data(10, 1);
    {
        NoDescriptor const none{context};
        int const seek = MPI_File_seek_shared(file, 10, MPI_SEEK_CUR);
        CHECK(same_on_all(context, error_class(seek)));
        int const write =
            MPI_File_write_ordered(file, data.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE);
        CHECK(same_on_all(context, error_class(write)));
#ifndef OPEN_MPI  // which has it in memory
        CHECK_EQUAL(error_class(seek), MPI_ERR_IO);
        CHECK_EQUAL(error_class(write), MPI_ERR_IO);
#endif
    }
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_write_ordered(file, data.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQUAL(shared_position_of(file), 10LL * context.size);
    close_file(file);
}

// Ranks were told of it one by one, or not at all: ROMIO leaves the others waiting.
TEST(a_seek_to_before_the_start_is_refused_before_there_is_a_view, under_unisono,
     "MPICH 4.0.2 hangs") {
    MPI_File file = open_file(context, context.path());
    CHECK_EQUAL(error_class(MPI_File_seek_shared(file, -1, MPI_SEEK_CUR)), MPI_ERR_ARG);
    CHECK_EQUAL(error_class(MPI_File_seek_shared(file, -1, MPI_SEEK_SET)), MPI_ERR_ARG);
    CHECK_MPI(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_seek_shared(file, 4, MPI_SEEK_CUR));
    CHECK_EQUAL(shared_position_of(file), 7);
    close_file(file);
}

// The MPI library is told of the view late, and where the pointer is.
TEST(shared_writes_go_on_after_new_hints) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    int const value = 1 + context.rank;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite_shared(file, &value, 1, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    Info const hints{{"cb_buffer_size", "1048576"}};
    CHECK_MPI(MPI_File_set_info(file, hints));
    CHECK_MPI(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_with_two_of_each_rank(context, file);
}

// A view that the MPI library had better not see: it is not told of it, so the pointer stays, and
// so do calls with it, which were refused.
TEST(the_shared_pointer_of_an_unusual_view_outlives_new_hints, under_unisono,
     "MPICH 4.0.2 aborts on such a view") {
    Type const tile = every_second_int_as_struct();
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 4, MPI_INT, tile, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_seek_shared(file, 2, MPI_SEEK_CUR));
    Info const hints{{"cb_buffer_size", "1048576"}};
    CHECK_MPI(MPI_File_set_info(file, hints));
    CHECK_MPI(MPI_File_seek_shared(file, 1, MPI_SEEK_CUR));
    CHECK_EQUAL(shared_position_of(file), 6);
    context.barrier();
    int const mine = 100 + context.rank;
    CHECK_MPI(MPI_File_write_shared(file, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite_shared(file, &mine, 1, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), 6 + 2 * context.size);
    close_file(file);
    context.barrier();
    if (context.root()) {
        auto const ints = ints_of(read_whole(context.path()), 4 + 6 * 8, 8);
        CHECK_EQUAL(ints.size(), 2u * context.size);
        for (int rank = 0; rank < context.size; ++rank)
            CHECK_EQUAL(std::ranges::count(ints, 100 + rank), 2);
    }
    context.barrier();
}

// Of 10 ints each rank asks for 4 in turn: who gets there too late gets less, and the pointer goes
// past all that was asked for.
TEST(an_ordered_read_past_the_end_counts_truly, all_but_native_openmpi,
     "Open MPI 4.1.4 counts what was asked for") {
    prepare_file(context, context.path(), 10 * sizeof(int));
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    std::vector<int> read(4, 0);
    MPI_Status status;
    CHECK_MPI(MPI_File_read_ordered(file, read.data(), 4, MPI_INT, &status));
    CHECK_EQUAL(count_of(status, MPI_INT), std::min(4, std::max(0, 10 - 4 * context.rank)));
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), 4 * context.size);
    CHECK_EQUAL(position_of(file), 0);
    close_file(file);
}

void wrong_ordered_call_after(Context const& context, int right_calls) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    int const value = 7;
    auto const write = [&](int count) {
        return MPI_File_write_ordered(file, &value, count, MPI_INT, MPI_STATUS_IGNORE);
    };
    for (int call = 0; call < right_calls; ++call) CHECK_MPI(write(1));
    CHECK_EQUAL(error_class(write(context.rank == context.size - 1 ? -1 : 1)), MPI_ERR_COUNT);
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), right_calls * context.size);
    context.barrier();
    CHECK_MPI(write(1));
    close_file(file);
    context.barrier();
    if (context.root())
        CHECK_EQUAL(read_whole(context.path()).size(),
                    (right_calls + 1) * sizeof(int) * context.size);
    context.barrier();
}

TEST(an_ordered_call_with_wrong_arguments_moves_nothing, under_unisono,
     "natively one rank leaves the others waiting") {
    wrong_ordered_call_after(context, 0);
}

// The others wrote over each other, where nobody meets any more for the data.
TEST(an_ordered_call_with_wrong_arguments_after_calls_that_repeat, under_unisono,
     "natively one rank leaves the others waiting") {
    wrong_ordered_call_after(context, 4);
}

// The MPI library need not know such a view before; in external32 it would not know it rightly.
TEST(ordered_calls_through_an_unusual_view) {
    Type const tile = every_second_int_as_struct();
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 4, MPI_INT, tile, "native", MPI_INFO_NULL));
    std::vector<int> const mine{100 + context.rank, 200 + context.rank, 300 + context.rank};
    CHECK_MPI(MPI_File_write_ordered(file, mine.data(), 3, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    std::vector<int> back(3);
    CHECK_MPI(MPI_File_read_ordered(file, back.data(), 3, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(back == mine);
    close_file(file);
    context.barrier();
    if (context.root())
        CHECK_EQUAL(ints_of(read_whole(context.path()), 4, 8).size(), 3u * context.size);
    context.barrier();
}

TEST(ordered_longs_in_external32, under_unisono, "no MPI library has longs right in external32") {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    std::vector<long> const mine(static_cast<std::size_t>(context.rank) + 1, -1 - context.rank);
    auto const count = static_cast<int>(mine.size());
    CHECK_MPI(MPI_File_write_ordered_begin(file, mine.data(), count, MPI_LONG));
    MPI_Status status;
    CHECK_MPI(MPI_File_write_ordered_end(file, mine.data(), &status));
    CHECK_EQUAL(count_of(status, MPI_LONG), count);
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    std::vector<long> back(mine.size());
    CHECK_MPI(MPI_File_read_ordered(file, back.data(), count, MPI_LONG, &status));
    CHECK(back == mine);
    CHECK_EQUAL(size_of(file), 4LL * context.size * (context.size + 1) / 2);
    close_file(file);
}

TEST(a_sequential_file) {
    MPI_File file =
        open_file(context, context.path(), MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    int const value = 50 + context.rank;
    CHECK_MPI(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(file);
    context.barrier();
    if (context.root()) {
        auto const ints = ints_of(read_whole(context.path()), 0, 4);
        CHECK_EQUAL(ints.size(), static_cast<std::size_t>(context.size));
        for (std::size_t rank = 0; rank < ints.size(); ++rank)
            CHECK_EQUAL(ints[rank], 50 + static_cast<int>(rank));
    }
    context.barrier();
}

// external32 is big-endian: either the library does it, or it says on all ranks that it does not.
TEST(external32_is_big_endian_or_refused) {
    DealtView const view(context, 3, MPI_INT);
    MPI_File file = open_file(context, view);
    int const code =
        MPI_File_set_view(file, 0, MPI_INT, view.filetype(), "external32", MPI_INFO_NULL);
    CHECK(same_on_all(context, code == MPI_SUCCESS));
    if (code != MPI_SUCCESS) return close_file(file);
    std::vector<int> mine(9), back(9);
    for (int i = 0; i < 9; ++i) mine[static_cast<std::size_t>(i)] = 0x01020300 + i;
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, mine.data(), 9, MPI_INT, &status));
    CHECK_EQUAL(count_of(status, MPI_INT), 9);
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 9, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(back == mine);
    CHECK_MPI(MPI_File_seek(file, 4, MPI_SEEK_SET));
    int one = 0;
    CHECK_MPI(MPI_File_read(file, &one, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(one, mine[4]);
    // Back to native: the bytes of the file show what was really written.
    CHECK_MPI(view.set(file));
    CHECK_MPI(MPI_File_read_all(file, back.data(), 9, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 9; ++i)
        CHECK_EQUAL(back[static_cast<std::size_t>(i)], (i << 24) + 0x00030201);
    close_file(file);
}

TEST(internal_representation_round_trip) {
    MPI_File file = open_file(context, context.path());
    DealtView const view(context, 3, MPI_INT);
    int const code =
        MPI_File_set_view(file, 0, MPI_INT, view.filetype(), "internal", MPI_INFO_NULL);
    CHECK(same_on_all(context, code == MPI_SUCCESS));
    if (code == MPI_SUCCESS) {
        std::vector<int> mine(9, 5 + context.rank), back(9);
        CHECK_MPI(MPI_File_write_all(file, mine.data(), 9, MPI_INT, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 9, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(back == mine);
    }
    close_file(file);
}

TEST(an_unknown_representation_is_an_error) {
    MPI_File file = open_file(context, context.path());
    CHECK_FAILS(
        MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "no such representation", MPI_INFO_NULL));
    close_file(file);
}

}  // namespace

}  // namespace semantics
