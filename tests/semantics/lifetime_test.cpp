// The program does what it likes with path, communicator, types and info once the file is open.
#include <unistd.h>

#include <filesystem>

#include "files.hpp"

namespace semantics {
namespace {

constexpr int call_bytes = 50000;

// Writes and reads back through a dealt view, small pieces and large ones.
void use(Context const& context, MPI_File file, int first_call, int calls) {
    DealtView const view(context, 250);
    CHECK_MPI(view.set(file));
    for (int call = first_call; call < first_call + calls; ++call) {
        Bytes const data = view.data(call * call_bytes, call_bytes);
        CHECK_MPI(MPI_File_write_at_all(file, call * call_bytes, data.data(), call_bytes, MPI_BYTE,
                                        MPI_STATUS_IGNORE));
        check_read_at_all(file, call * call_bytes, data);
    }
}

TEST(a_file_renamed_after_open) {
    MPI_File file = open_file(context, context.path("old"));
    context.barrier();
    if (context.root()) std::filesystem::rename(context.path("old"), context.path("new"));
    context.barrier();
    use(context, file, 0, 2);
    close_file(file);
    context.barrier();
    CHECK(!std::filesystem::exists(context.path("old")));
    check_file(context, context.path("new"),
               2 * call_bytes * static_cast<std::size_t>(context.size));
}

TEST(a_file_replaced_after_open) {
    MPI_File file = open_file(context, context.path());
    context.barrier();
    if (context.root()) {
        std::filesystem::rename(context.path(), context.path("old"));
        write_whole(context.path(), Bytes(10, 1));
    }
    context.barrier();
    use(context, file, 0, 1);
    close_file(file);
    check_file(context, context.path("old"), call_bytes * static_cast<std::size_t>(context.size));
    check_file(context, context.path(), Bytes(10, 1), "the other file");
}

TEST(a_file_unlinked_after_open) {
    MPI_File file = open_file(context, context.path());
    context.barrier();
    if (context.root()) std::filesystem::remove(context.path());
    context.barrier();
    use(context, file, 0, 2);
    CHECK_EQUAL(size_of(file), 2LL * call_bytes * context.size);
    close_file(file);
    context.barrier();
    CHECK(!std::filesystem::exists(context.path()));
    context.barrier();
}

TEST(a_file_unlinked_between_two_calls) {
    MPI_File file = open_file(context, context.path());
    use(context, file, 0, 1);
    context.barrier();
    if (context.root()) std::filesystem::remove(context.path());
    context.barrier();
    use(context, file, 1, 1);
    close_file(file);
}

TEST(the_working_directory_changes_after_a_relative_open) {
    auto const home = std::filesystem::current_path();
    std::filesystem::current_path(context.directory);
    MPI_File file = open_file(context, "relative");
    context.barrier();
    std::filesystem::current_path("/");
    use(context, file, 0, 2);
    close_file(file);
    context.barrier();
    std::filesystem::current_path(home);
    check_file(context, context.path("relative"),
               2 * call_bytes * static_cast<std::size_t>(context.size));
}

TEST(the_communicator_is_freed_after_open) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(context.comm, &copy);
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(MPI_File_open(copy, context.path().c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &file));
    MPI_Comm_free(&copy);
    // Its handle may now be that of another communicator.
    MPI_Comm another = MPI_COMM_NULL;
    MPI_Comm_split(context.comm, context.rank, 0, &another);
    use(context, file, 0, 2);
    MPI_Comm_free(&another);
    close_file(file);
}

TEST(two_files_after_the_communicator_was_freed) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(context.comm, &copy);
    MPI_File files[2] = {MPI_FILE_NULL, MPI_FILE_NULL};
    int const mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    for (int i = 0; i < 2; ++i)
        CHECK_MPI(MPI_File_open(copy, context.path(std::to_string(i)).c_str(), mode, MPI_INFO_NULL,
                                &files[i]));
    use(context, files[0], 0, 1);
    MPI_Comm_free(&copy);
    use(context, files[1], 0, 1);
    close_file(files[0]);
    use(context, files[1], 1, 1);
    close_file(files[1]);
}

TEST(types_are_freed_after_set_view) {
    MPI_File file = open_file(context, context.path());
    Bytes expected;
    {
        Type const etype = make_contiguous(2, MPI_BYTE);
        DealtView const view(context, 125, etype);
        CHECK_MPI(view.set(file));
        expected = view.data(0, call_bytes);
    }
    // New types in the place of the freed ones.
    Type const other = make_vector(5, 1, 9, MPI_DOUBLE), another = make_contiguous(3, MPI_SHORT);
    {
        Type const memory = make_contiguous(1000, MPI_BYTE);
        CHECK_MPI(MPI_File_write_all(file, expected.data(), call_bytes / 1000, memory,
                                     MPI_STATUS_IGNORE));
    }
    check_read_at_all(file, 0, expected, "after the types were freed");
    close_file(file);
    check_file(context, context.path(), call_bytes * static_cast<std::size_t>(context.size));
}

// The same handle value stands for different types one after the other.
TEST(reused_type_handles_are_not_confused) {
    MPI_File file = open_file(context, context.path());
    for (int block = 1; block <= 12; ++block) {
        DealtView const view(context, block * 3, MPI_BYTE, block);
        CHECK_MPI(view.set(file));
        Type const memory = make_vector(20, block, 2 * block, MPI_BYTE);
        Bytes const data = view.data(0, static_cast<std::size_t>(20 * block));
        Bytes spread(static_cast<std::size_t>(40 * block), 0);
        for (std::size_t i = 0; i < data.size(); ++i) {
            auto const width = static_cast<std::size_t>(block);
            spread[i / width * 2 * width + i % width] = data[i];
        }
        CHECK_MPI(MPI_File_write_all(file, spread.data(), 1, memory, MPI_STATUS_IGNORE));
        check_read_at_all(file, 0, data);
    }
    close_file(file);
}

TEST(the_info_is_freed_after_open) {
    MPI_File file = open_with(context, {{"cb_buffer_size", "65536"}});
    Info const other{{"cb_buffer_size", "1"}};
    use(context, file, 0, 1);
    CHECK_EQUAL(info_value(file, "cb_buffer_size"), "65536");
    close_file(file);
}

void write_after_new_hints(Context const& context, MPI_File& file, MPI_Info hints) {
    MPI_Info_set(hints, "cb_buffer_size", "65536");
    CHECK_MPI(MPI_File_set_info(file, hints));
    Bytes const data = pattern_bytes(10 * context.rank, 10);
    CHECK_MPI(MPI_File_write_at_all(file, 10 * context.rank, data.data(), 10, MPI_BYTE,
                                    MPI_STATUS_IGNORE));
    close_file(file);
}

// New hints had Unisono open it once more through the MPI library, by the name that it was given.
TEST(writes_went_to_a_file_of_the_same_name_in_another_folder) {
    auto const home = std::filesystem::current_path();
    auto const elsewhere = context.path("elsewhere");
    std::filesystem::create_directory(elsewhere);
    prepare_file(context, elsewhere + "/data", 100);
    std::filesystem::current_path(context.directory);
    Info const hints{{"unisono_backend", "mpiio"}};
    MPI_File file = open_file(context, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    std::filesystem::current_path(elsewhere);
    write_after_new_hints(context, file, hints);
    std::filesystem::current_path(home);
    check_file(context, context.path(), 10 * static_cast<std::size_t>(context.size));
    check_file(context, elsewhere + "/data", 100);
}

// The same where the file has been renamed.
TEST(writes_went_to_a_file_that_has_taken_the_name) {
    Info const hints{{"unisono_backend", "mpiio"}};
    MPI_File file = open_file(context, context.path(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    context.barrier();
    if (context.root()) std::filesystem::rename(context.path(), context.path("renamed"));
    prepare_file(context, context.path(), 100);
    write_after_new_hints(context, file, hints);
    check_file(context, context.path("renamed"), 10 * static_cast<std::size_t>(context.size));
    check_file(context, context.path(), 100);
}

}  // namespace

}  // namespace semantics
