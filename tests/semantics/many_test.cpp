// Many files at once and one after the other: nothing is mixed up, nothing is left behind.
#include <dirent.h>

#include <filesystem>

#include "files.hpp"

namespace semantics {
namespace {

TEST(a_hundred_files_open_at_once) {
    constexpr int files_count = 100, call_bytes = 240;
    std::vector<MPI_File> files;
    DealtView const view(context, 24);
    for (int i = 0; i < files_count; ++i) {
        files.push_back(open_file(context, context.path(std::to_string(i))));
        CHECK_MPI(view.set(files.back()));
    }
    for (int call = 0; call < 2; ++call)
        for (int i = 0; i < files_count; ++i) {
            Bytes const data = view.data(call * call_bytes, call_bytes, static_cast<unsigned>(i));
            CHECK_MPI(MPI_File_write_all(files[static_cast<std::size_t>(i)], data.data(),
                                         call_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        }
    for (int i = files_count - 1; i >= 0; --i) {
        auto& file = files[static_cast<std::size_t>(i)];
        check_read_at_all(file, 0, view.data(0, 2 * call_bytes, static_cast<unsigned>(i)),
                          "one of many");
    }
    for (int i = 0; i < files_count; ++i)  // odd ones first
        close_file(files[static_cast<std::size_t>((2 * i + 1) % (files_count + 1))]);
}

long open_descriptors() {
    auto const entries = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(entries), end(entries));
}

void open_use_close(Context const& context, int times) {
    DealtView const view(context, 24);
    Bytes const data = view.data(0, 240);
    for (int i = 0; i < times; ++i) {
        MPI_File file = open_file(context, view);
        CHECK_MPI(MPI_File_write_all(file, data.data(), 240, MPI_BYTE, MPI_STATUS_IGNORE));
        close_file(file);
    }
}

// More rounds than MPICH has communicators (2048 context ids) would take long; 40 show a leak of
// descriptors just as well.
TEST(closing_gives_everything_back) {
    open_use_close(context, 3);
    context.barrier();
    auto const before = open_descriptors();
    open_use_close(context, 40);
    context.barrier();
    CHECK_EQUAL(open_descriptors(), before);
}

// HDF5 and PnetCDF set a view around every access.
TEST(many_views_on_one_file) {
    MPI_File file = open_file(context, context.path());
    for (int i = 0; i < 150; ++i) {
        DealtView const view(context, 10 + i % 7, MPI_BYTE, 100 * i);
        CHECK_MPI(view.set(file));
        Bytes const data = view.data(0, 60);
        CHECK_MPI(MPI_File_write_all(file, data.data(), 60, MPI_BYTE, MPI_STATUS_IGNORE));
        if (i % 10 == 0) {
            check_read_at_all(file, 0, data);
        }
        CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    }
    close_file(file);
}

}  // namespace

}  // namespace semantics
