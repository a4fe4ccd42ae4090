// Split and nonblocking collective calls, between blocking ones, through views.
#include "files.hpp"

namespace semantics {
namespace {

constexpr int mine_bytes = 6400;

TEST(split_calls_between_blocking_ones) {
    DealtView const view(context, 20, MPI_INT, 12);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 3 * mine_bytes);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, data.data(), 1600, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_write_all_begin(file, data.data() + mine_bytes, 1600, MPI_INT));
    CHECK_MPI(MPI_File_write_all_end(file, data.data() + mine_bytes, &status));
    CHECK_EQUAL(count_of(status, MPI_INT), 1600);
    CHECK_MPI(
        MPI_File_write_all(file, data.data() + 2 * mine_bytes, 1600, MPI_INT, MPI_STATUS_IGNORE));
    Bytes back(3 * mine_bytes);
    CHECK_MPI(MPI_File_read_at_all_begin(file, 0, back.data(), 4800, MPI_INT));
    CHECK_MPI(MPI_File_read_at_all_end(file, back.data(), &status));
    CHECK_EQUAL(count_of(status, MPI_INT), 4800);
    check_bytes(back, data, "split read");
    close_file(file);
}

TEST(split_calls_on_two_files_at_once) {
    MPI_File files[2] = {open_file(context, context.path("a")),
                         open_file(context, context.path("b"))};
    DealtView const views[2] = {DealtView(context, 16), DealtView(context, 48)};
    Bytes data[2], back[2];
    for (int i = 0; i < 2; ++i) {
        CHECK_MPI(views[i].set(files[i]));
        data[i] = views[i].data(0, mine_bytes);
        back[i].resize(mine_bytes);
        CHECK_MPI(MPI_File_write_all_begin(files[i], data[i].data(), mine_bytes, MPI_BYTE));
    }
    for (int i = 0; i < 2; ++i)
        CHECK_MPI(MPI_File_write_all_end(files[i], data[i].data(), MPI_STATUS_IGNORE));
    for (int i = 1; i >= 0; --i)
        CHECK_MPI(MPI_File_read_at_all_begin(files[i], 0, back[i].data(), mine_bytes, MPI_BYTE));
    for (int i = 0; i < 2; ++i) {
        CHECK_MPI(MPI_File_read_at_all_end(files[i], back[i].data(), MPI_STATUS_IGNORE));
        check_bytes(back[i], data[i], "split read");
        close_file(files[i]);
    }
}

TEST(blocking_calls_see_what_nonblocking_ones_wrote) {
    DealtView const view(context, 20, MPI_INT, 12);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, mine_bytes);
    Bytes back(mine_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    CHECK_MPI(MPI_File_iwrite_at_all(file, 0, data.data(), 1600, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_EQUAL(count_of(status, MPI_INT), 1600);
    CHECK_MPI(MPI_File_read_all(file, back.data(), 1600, MPI_INT, &status));
    check_bytes(back, data, "blocking read");
    close_file(file);
}

TEST(nonblocking_calls_see_what_blocking_ones_wrote) {
    DealtView const view(context, 20, MPI_INT, 12);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, mine_bytes);
    Bytes back(mine_bytes);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 1600, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iread_at_all(file, 0, back.data(), 1600, MPI_INT, &request));
    int done = 0;
    while (!done) CHECK_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    check_bytes(back, data, "nonblocking read");
    close_file(file);
}

TEST(several_nonblocking_calls_at_once) {
    DealtView const view(context, 32);
    MPI_File file = open_file(context, view);
    constexpr int calls = 5;
    Bytes const data = view.data(0, calls * mine_bytes);
    MPI_Request requests[calls];
    for (int call = 0; call < calls; ++call)
        CHECK_MPI(MPI_File_iwrite_at_all(file, call * mine_bytes, data.data() + call * mine_bytes,
                                         mine_bytes, MPI_BYTE, &requests[call]));
    CHECK_MPI(MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE));
    Bytes back(calls * mine_bytes);
    CHECK_MPI(
        MPI_File_read_all(file, back.data(), calls * mine_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    check_bytes(back, data, "blocking read");
    close_file(file);
}

// Rank-dependent nonblocking independent calls are pending while a collective call runs.
TEST(independent_requests_across_a_collective_call) {
    DealtView const view(context, 32);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 2 * mine_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    if (context.rank % 2 == 0)
        CHECK_MPI(MPI_File_iwrite_at(file, 0, data.data(), mine_bytes, MPI_BYTE, &request));
    CHECK_MPI(MPI_File_write_at_all(file, mine_bytes, data.data() + mine_bytes, mine_bytes,
                                    MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    int const from = context.rank % 2 == 0 ? 0 : mine_bytes;
    check_read_at_all(file, from, view.data(from, static_cast<std::size_t>(2 * mine_bytes - from)));
    close_file(file);
}

// A million pieces: the description is small, and every way of calling must cope with it.
TEST(a_view_of_many_pieces) {
    constexpr int pieces = 200000;
    Type const column = make_vector(pieces, 1, 2 * context.size, MPI_SHORT);
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(
        MPI_File_set_view(file, 4LL * context.rank, MPI_SHORT, column, "native", MPI_INFO_NULL));
    std::vector<short> data(1000), back(3000);
    for (int call = 0; call < 3; ++call) {
        for (int i = 0; i < 1000; ++i)
            data[static_cast<std::size_t>(i)] =
                static_cast<short>(call * 1000 + i + 7 * context.rank);
        if (call == 1) {
            CHECK_MPI(MPI_File_write_all_begin(file, data.data(), 1000, MPI_SHORT));
            CHECK_MPI(MPI_File_write_all_end(file, data.data(), MPI_STATUS_IGNORE));
        } else {
            CHECK_MPI(MPI_File_write_all(file, data.data(), 1000, MPI_SHORT, MPI_STATUS_IGNORE));
        }
    }
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 3000, MPI_SHORT, MPI_STATUS_IGNORE));
    for (std::size_t i = 0; i < back.size(); ++i)
        if (!CHECK_EQUAL(back[i],
                         static_cast<short>(i + 7 * static_cast<std::size_t>(context.rank))))
            break;
    close_file(file);
}

}  // namespace

}  // namespace semantics
