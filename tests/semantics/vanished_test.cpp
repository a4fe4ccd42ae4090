// Files that somebody removes just after the MPI library has opened them: Unisono has no way to
// them, and the MPI library does all.
#include <filesystem>

#include "files.hpp"

namespace semantics {
namespace {

// vanishing_files.c is preloaded. Collective.
MPI_File open_vanishing(Context const& context) {
    auto const path = context.path("vanishing");
    MPI_File file = open_file(context, path);
    CHECK(!std::filesystem::exists(path));
    return file;
}

TEST(collective_data_is_written_synced_and_read) {
    MPI_File file = open_vanishing(context);
    DealtView const view(context, 100);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 10000);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, data.data(), 10000, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 10000);
    CHECK_MPI(MPI_File_sync(file));
    check_read_at_all(file, 0, data);
    CHECK_MPI(MPI_File_sync(file));
    close_file(file);
}

TEST(independent_and_nonblocking_data_is_too) {
    MPI_File file = open_vanishing(context);
    Bytes const data(1000, static_cast<unsigned char>(context.rank + 1));
    auto const begin = 2000 * context.rank;
    CHECK_MPI(MPI_File_write_at(file, begin, data.data(), 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite_at(file, begin + 1000, data.data(), 1000, MPI_BYTE, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_sync(file));
    check_read_at(file, begin + 500, data);
    close_file(file);
}

TEST(its_size_can_be_set) {
    MPI_File file = open_vanishing(context);
    CHECK_MPI(MPI_File_set_size(file, 5000));
    CHECK_MPI(MPI_File_sync(file));
    CHECK_EQUAL(size_of(file), 5000);
    close_file(file);
}

}  // namespace

}  // namespace semantics
