// Files whose descriptors are not the kernel's, as preloaded clients of file systems hand them out.
#include <fcntl.h>
#include <unistd.h>

#include "files.hpp"

namespace semantics {
namespace {

// foreign_descriptors.c is preloaded and takes the files of this test.
bool descriptors_are_foreign(Context const& context) {
    int const fd = open(context.path("probe").c_str(), O_RDWR | O_CREAT, 0600);
    bool const foreign = fd >= 0x20000000;
    close(fd);
    return foreign;
}

// 24 MiB in strided pieces of `piece` bytes, written, synced and read back.
void check_strided(Context const& context, int piece) {
    auto const bytes = (24 << 20) / context.size / piece * piece;
    DealtView const view(context, piece);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, static_cast<std::size_t>(bytes));
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, data.data(), bytes, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), bytes);
    CHECK_MPI(MPI_File_sync(file));
    check_read_at_all(file, 0, data);
    close_file(file);
    check_file(context, context.path(), static_cast<std::size_t>(bytes) * context.size);
}

TEST(strided_data_arrives) {
    REQUIRE_ALL(context, CHECK(descriptors_are_foreign(context)));
    for (int const piece : {64, 4096, 128 << 10}) check_strided(context, piece);
}

TEST(an_independent_list_arrives) {
    REQUIRE_ALL(context, CHECK(descriptors_are_foreign(context)));
    DealtView const view(context, 100);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 100000);
    CHECK_MPI(MPI_File_write_at(file, 0, data.data(), 100000, MPI_BYTE, MPI_STATUS_IGNORE));
    check_read_at(file, 0, data);
    close_file(file);
    check_file(context, context.path(), 100000u * static_cast<unsigned>(context.size));
}

TEST(space_can_be_had_in_advance) {
    REQUIRE_ALL(context, CHECK(descriptors_are_foreign(context)));
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_preallocate(file, 100000));
    CHECK_EQUAL(size_of(file), 100000);
    context.barrier();  // nobody cuts it before all have looked
    CHECK_MPI(MPI_File_set_size(file, 10));
    CHECK_EQUAL(size_of(file), 10);
    close_file(file);
}

}  // namespace

}  // namespace semantics
