// Open modes, errors of open, and which ranks a file belongs to.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "files.hpp"

namespace semantics {
namespace {

TEST(append_begins_at_the_end) {
    prepare_file(context, context.path(), 1000);
    MPI_File file = open_file(context, context.path(), MPI_MODE_WRONLY | MPI_MODE_APPEND);
    CHECK_EQUAL(position_of(file), 1000);
    // All pointers stand at the same place, so only one rank writes; then the others follow it.
    Bytes const data = pattern_bytes(1000, 500);
    int const count = context.rank == context.size - 1 ? 500 : 0;
    CHECK_MPI(MPI_File_write_all(file, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 1000 + count);
    close_file(file);
    check_file(context, context.path(), 1500);
}

TEST(append_with_a_view_of_its_own) {
    prepare_file(context, context.path(), 1000);
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDWR | MPI_MODE_APPEND);
    DealtView const view(context, 20, MPI_BYTE, 1000);
    CHECK_MPI(view.set(file));
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    Bytes const data = view.data(0, 200);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 200, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    check_file(context, context.path(), 1000 + 200 * static_cast<std::size_t>(context.size));
}

TEST(delete_on_close) {
    DealtView const view(context, 20);
    MPI_File file = open_file(context, context.path(),
                              MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 200);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 200, MPI_BYTE, MPI_STATUS_IGNORE));
    context.barrier();
    CHECK_EQUAL(access(context.path().c_str(), F_OK), 0);
    context.barrier();
    close_file(file);
    context.barrier();
    CHECK_EQUAL(access(context.path().c_str(), F_OK), -1);
}

TEST(exclusive_creation_fails_the_second_time) {
    int const mode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR;
    MPI_File file = open_file(context, context.path(), mode);
    close_file(file);
    context.barrier();
    MPI_File second = MPI_FILE_NULL;
    int const code =
        MPI_File_open(context.comm, context.path().c_str(), mode, MPI_INFO_NULL, &second);
    CHECK(code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(code)));
    CHECK_EQUAL(error_class(code), MPI_ERR_FILE_EXISTS);
}

TEST(a_missing_file_is_an_error_on_all_ranks) {
    MPI_File file = MPI_FILE_NULL;
    int const code = MPI_File_open(context.comm, context.path("missing").c_str(), MPI_MODE_RDONLY,
                                   MPI_INFO_NULL, &file);
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SUCH_FILE);
    CHECK(same_on_all(context, error_class(code)));
}

TEST(no_name_ended_the_program) {
#ifndef OPEN_MPI  // which crashes natively
    MPI_File file = MPI_FILE_NULL;
    int const code = MPI_File_open(context.comm, nullptr, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    CHECK(code != MPI_SUCCESS && file == MPI_FILE_NULL);
#else
    (void)context;
#endif
}

TEST(contradicting_modes_are_an_error) {
    for (int mode : {MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_EXCL,
                     MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL}) {
        MPI_File file = MPI_FILE_NULL;
        CHECK_FAILS(
            MPI_File_open(context.comm, context.path().c_str(), mode, MPI_INFO_NULL, &file));
    }
}

TEST(opening_again_keeps_the_content) {
    prepare_file(context, context.path(), 800 * static_cast<std::size_t>(context.size));
    DealtView const view(context, 40);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(80, 40);
    CHECK_MPI(MPI_File_write_at_all(file, 80, data.data(), 40, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    check_file(context, context.path(), 800 * static_cast<std::size_t>(context.size));
}

TEST(delete_removes_the_file) {
    prepare_file(context, context.path(), 100);
    if (context.root()) CHECK_MPI(MPI_File_delete(context.path().c_str(), MPI_INFO_NULL));
    context.barrier();
    CHECK_EQUAL(access(context.path().c_str(), F_OK), -1);
    CHECK_FAILS(MPI_File_delete(context.path().c_str(), MPI_INFO_NULL));
}

// Half of the ranks, in reverse order, and the other half: a file for each, and one for all.
TEST(subsets_of_ranks_have_their_own_files) {
    int const colour = context.rank % 2;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(context.comm, colour, -context.rank, &half);
    Context inner = context;
    inner.comm = half;
    MPI_Comm_rank(half, &inner.rank);
    MPI_Comm_size(half, &inner.size);

    MPI_File own = open_file(inner, context.path("half" + std::to_string(colour)));
    MPI_File shared = open_file(context, context.path("all"));
    DealtView const own_view(inner, 30), shared_view(context, 70);
    CHECK_MPI(own_view.set(own));
    CHECK_MPI(shared_view.set(shared));
    for (int call = 0; call < 4; ++call) {
        Bytes const own_data = own_view.data(call * 300, 300);
        Bytes const shared_data = shared_view.data(call * 700, 700);
        CHECK_MPI(MPI_File_write_all(own, own_data.data(), 300, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_File_write_all(shared, shared_data.data(), 700, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    close_file(own);
    close_file(shared);
    check_file(inner, context.path("half" + std::to_string(colour)),
               1200 * static_cast<std::size_t>(inner.size));
    check_file(context, context.path("all"), 2800 * static_cast<std::size_t>(context.size));
    MPI_Comm_free(&half);
}

TEST(one_file_per_rank_on_comm_self) {
    auto const path = context.path("self" + std::to_string(context.rank));
    MPI_File own = MPI_FILE_NULL;
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &own));
    DealtView const view(0, 2, 25);
    CHECK_MPI(view.set(own));
    // Different numbers of calls on different ranks: nobody may wait for anybody.
    int const calls = 1 + context.rank;
    for (int call = 0; call < calls; ++call) {
        Bytes const data = view.data(call * 250, 250);
        CHECK_MPI(MPI_File_write_all(own, data.data(), 250, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    check_read_at_all(own, 0, view.data(0, 250), "own file");
    close_file(own);
}

TEST(one_shared_file_on_comm_self) {
    MPI_File own = MPI_FILE_NULL;
    context.barrier();
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, context.path().c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &own));
    DealtView const view(context, 4096);
    CHECK_MPI(view.set(own));
    Bytes const data = view.data(0, 40960);
    CHECK_MPI(MPI_File_write_all(own, data.data(), 40960, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(own);
    check_file(context, context.path(), 40960 * static_cast<std::size_t>(context.size));
}

// ROMIO takes "ufs:x" for x, OMPIO for a file of that name; both may be there. Data calls, which
// are Unisono's, and sizes, which are the library's, are of the same file.
TEST(a_drivers_name_before_the_path_is_taken_as_the_library_does) {
    std::filesystem::path const path = context.path();
    auto const with_driver = "ufs:" + path.filename().string();
    if (context.rank == 0)
        for (auto const& one : {path, path.parent_path() / with_driver})
            std::ofstream{one} << "old";
    auto const folder = std::filesystem::current_path();
    std::filesystem::current_path(path.parent_path());
    context.barrier();
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(
        MPI_File_open(context.comm, with_driver.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    Bytes const data(10, 7);
    CHECK_MPI(MPI_File_write_at_all(file, context.rank * 10, data.data(), 10, MPI_BYTE,
                                    MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_sync(file));
    context.barrier();
    MPI_Offset size = 0;
    CHECK_MPI(MPI_File_get_size(file, &size));
    CHECK_EQUAL(size, 10 * context.size);
    close_file(file);
    if (context.rank == 0) std::filesystem::remove(with_driver);
    std::filesystem::current_path(folder);
}

TEST(no_file_on_an_intercommunicator, .ranks_min = 2) {
    MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
    MPI_Comm_split(context.comm, context.rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, context.comm, 1 - context.rank % 2, 0, &between);
    an_intercommunicator_is_refused(between, context.path());
    context.barrier();
    CHECK(read_whole(context.path()).empty());
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

}  // namespace

}  // namespace semantics
