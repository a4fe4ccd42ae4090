// New views: ranks set them without waiting for each other, and what was wrong with one comes out
// at the next call that they make together.
#include <filesystem>
#include <set>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* views_wait = "natively new views wait for all ranks";

// By now Unisono knows of all ranks whether the MPI library has to know their views.
MPI_File open_with_a_view(Context const& context) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(DealtView(context, 16).set(file));
    return file;
}

void write_and_check(Context const& context, MPI_File file, DealtView const& view) {
    Bytes const data = view.data(0, 160);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 160, MPI_BYTE, MPI_STATUS_IGNORE));
    check_read_at_all(file, 0, data);
    context.barrier();
}

TEST(a_new_view_waits_for_nobody, under_unisono, views_wait) {
    MPI_File file = open_with_a_view(context);
    DealtView const next(context, 40);
    int const word = 1;
    int heard = 0;
    if (!context.root()) MPI_Recv(&heard, 1, MPI_INT, 0, 0, context.comm, MPI_STATUS_IGNORE);
    CHECK_MPI(next.set(file));
    for (int rank = 1; context.root() && rank < context.size; ++rank)
        MPI_Send(&word, 1, MPI_INT, rank, 0, context.comm);
    write_and_check(context, file, next);
    close_file(file);
    check_file(context, context.path(), 160 * static_cast<std::size_t>(context.size));
}

// Who kept the old view wrote by it, ahead of the agreement that the call is an error.
TEST(a_refused_write_was_done_by_who_kept_the_old_view, under_unisono, views_wait, 2) {
    MPI_File file = open_file(context, context.path());
    auto const mistaken = context.rank == context.size - 1;
    auto const mine = MPI_Offset{100} * context.rank;
    auto const data = pattern_bytes(mine, 100);
    Bytes const other(100, 1);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_write_at_all(file, mine, data.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE));
    auto const code =
        MPI_File_set_view(file, mistaken ? -1 : 1000, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    CHECK_EQUAL(code != MPI_SUCCESS, mistaken);
    CHECK_FAILS(MPI_File_write_at_all(file, mine, other.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    if (!mistaken) return;
    auto const whole = read_whole(context.path());
    check_bytes(Bytes(whole.begin() + mine, whole.begin() + mine + 100), data, "of before");
}

TEST(a_wrong_view_on_one_rank_is_an_error_there_and_at_the_next_call, under_unisono, views_wait,
     2) {
    MPI_File file = open_with_a_view(context);
    DealtView const next(context, 40);
    auto const mistaken = context.rank == context.size - 1;
    auto const no_type = MPI_File_set_view(
        file, 0, MPI_BYTE, mistaken ? MPI_DATATYPE_NULL : next.filetype(), "native", MPI_INFO_NULL);
    CHECK_EQUAL(error_class(no_type), mistaken ? MPI_ERR_TYPE : MPI_SUCCESS);
    auto const code = MPI_File_set_view(file, mistaken ? -5 : next.displacement(), MPI_BYTE,
                                        next.filetype(), "native", MPI_INFO_NULL);
    CHECK_EQUAL(code != MPI_SUCCESS, mistaken);
    std::uint8_t byte = 1;
    auto const next_code = MPI_File_write_all(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(next_code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(next_code)));
    CHECK(error_text(next_code).find("MPI_File_set_view failed there") != std::string::npos);
    CHECK_EQUAL(size_of(file), 0);
    context.barrier();
    CHECK_MPI(next.set(file));
    write_and_check(context, file, next);
    for (int i = 0; i < 100; ++i)
        CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_write_shared(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), context.size);
    close_file(file);
}

TEST(hints_with_a_later_view_count_from_the_next_call_on, under_unisono, "Unisono's own hints") {
    if (strategy_is_forced()) return skip("UNISONO_STRATEGY is set");
    MPI_File file = open_with_a_view(context);
    Info const hints{{"unisono_strategy", "independent"}};
    DealtView const next(context, 40);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, next.filetype(), "native",
                                context.root() ? hints : MPI_INFO_NULL));
    write_and_check(context, file, next);
    CHECK_EQUAL(info_value(file, "unisono_strategy"), "independent");
    close_file(file);
    check_file(context, context.path(), 160 * static_cast<std::size_t>(context.size));
}

// Counters of old views are used again for new ones.
TEST(the_shared_pointer_begins_anew_with_each_of_many_views) {
    constexpr int views = 150;
    MPI_File file = open_file(context, context.path());
    for (int i = 0; i < views; ++i) {
        CHECK_MPI(MPI_File_set_view(file, MPI_Offset{4} * i * context.size, MPI_INT, MPI_INT,
                                    "native", MPI_INFO_NULL));
        int const value = 1 + i * context.size + context.rank;
        CHECK_MPI(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), context.size);
    close_file(file);
    if (context.root()) {
        auto const whole = read_whole(context.path());
        CHECK_EQUAL(whole.size(), std::size_t{4} * views * context.size);
        std::set<std::vector<std::uint8_t>> different;
        for (std::size_t at = 0; at + 4 <= whole.size(); at += 4)
            different.emplace(whole.begin() + static_cast<std::ptrdiff_t>(at),
                              whole.begin() + static_cast<std::ptrdiff_t>(at) + 4);
        CHECK_EQUAL(different.size(), static_cast<std::size_t>(views * context.size));
    }
    context.barrier();
}

// Between nodes the shared pointer is in a hidden file.
TEST(nothing_but_the_file_is_left, under_unisono,
     "natively the shared pointer's file may be left") {
    MPI_File file = open_with_a_view(context);
    std::uint8_t const byte = 1;
    CHECK_MPI(MPI_File_write_shared(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    context.barrier();
    std::filesystem::directory_iterator const files{context.directory};
    CHECK_EQUAL(std::distance(begin(files), end(files)), 1);
    context.barrier();
}

// On one node it is in memory, and needs no place.
TEST(a_shared_pointer_without_a_place_is_an_error, under_unisono, "Unisono's own message", 2) {
    auto const folder = context.path("folder");
    if (context.root()) std::filesystem::create_directory(folder);
    context.barrier();
    MPI_File file = open_file(context, folder + "/data");
    CHECK_MPI(DealtView(context, 16).set(file));
    context.barrier();
    if (context.root()) std::filesystem::remove_all(folder);
    context.barrier();
    std::uint8_t const byte = 1;
    auto const code = MPI_File_write_shared(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    if (on_one_node(context)) {
        CHECK_MPI(code);
    } else {
        CHECK_EQUAL(error_class(code), MPI_ERR_NO_SUCH_FILE);
        CHECK(error_text(code).find("hidden file") != std::string::npos);
    }
    CHECK_MPI(MPI_File_write_all(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
}

MPI_File open_with_bytes(Context const& context) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    return file;
}

void write_shared(MPI_File file, int bytes) {
    Bytes const data(static_cast<std::size_t>(bytes), 1);
    CHECK_MPI(MPI_File_write_shared(file, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

void check_position_shared(Context const& context, MPI_File file, MPI_Offset expected) {
    context.barrier();
    CHECK_EQUAL(shared_position_of(file), expected);
    context.barrier();
}

// Between nodes some took the end for the shared pointer when others had written behind it already.
TEST(a_seek_finds_the_same_end_on_all_ranks, under_unisono,
     "MPICH 4.0.2 tells rank 0 alone of a wrong whence") {
    constexpr int rounds = 20, bytes = 16;
    MPI_File file = open_with_bytes(context);
    for (int i = 0; i < rounds; ++i) {
        CHECK_MPI(MPI_File_sync(file));
        context.barrier();
        CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_END));
        write_shared(file, bytes);
    }
    context.barrier();
    CHECK_EQUAL(size_of(file), MPI_Offset{rounds} * bytes * context.size);
    CHECK_EQUAL(error_class(MPI_File_seek_shared(file, 0, 12345)), MPI_ERR_ARG);
    close_file(file);
}

// Between nodes ranks made hidden files of different names for the shared pointer.
TEST(the_file_may_be_unlinked_right_after_its_view, under_unisono,
     "MPICH 4.0.2 takes seconds for some") {
    constexpr int rounds = 20, bytes = 16;
    for (int i = 0; i < rounds; ++i) {
        MPI_File file = open_with_bytes(context);
        if (context.root()) std::filesystem::remove(context.path());
        write_shared(file, bytes);
        check_position_shared(context, file, MPI_Offset{bytes} * context.size);
        close_file(file);
        context.barrier();
    }
}

// Each rank went on where it found the pointer when its view was refused.
TEST(a_view_refused_on_all_ranks_leaves_the_shared_pointer, under_unisono,
     "Open MPI 4.1.4 takes over part of a view that it refuses") {
    MPI_File file = open_with_bytes(context);
    if (!context.root()) write_shared(file, 2);
    MPI_Offset expected = MPI_Offset{2} * (context.size - 1);
    // Sometimes ranks meet for it: counters are used again.
    for (int refused = 1; refused <= 40; ++refused) {
        CHECK(MPI_File_set_view(file, -5, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) !=
              MPI_SUCCESS);
        write_shared(file, 3);
        expected += MPI_Offset{3} * context.size;
        if (refused == 1) check_position_shared(context, file, expected);
    }
    check_position_shared(context, file, expected);
    close_file(file);
}

// Some ranks had a view then that the library knew, others one that it did not.
TEST(a_wrong_view_after_a_call_of_the_mpi_librarys_is_refused_on_all, under_unisono,
     "natively the others wait for ever", 2) {
    if (strategy_is_forced()) return skip("UNISONO_STRATEGY is set");
    MPI_File file = open_with(context, {{"unisono_strategy", "native"}});
    DealtView const view(context, 16);
    CHECK_MPI(view.set(file));
    write_and_check(context, file, view);
    auto const type = context.root() ? MPI_BYTE : MPI_DATATYPE_NULL;
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    std::uint8_t const byte = 1;
    CHECK_MPI(MPI_File_write_ordered(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(view.set(file));
    close_file(file);
}

// They were accepted once the MPI library was not told of views any more.
TEST(wrong_filetypes_are_refused, under_unisono,
     "Open MPI 4.1.4 takes over part of a view that it refuses") {
    MPI_File file = open_with_a_view(context);
    auto const set = [&](MPI_Datatype filetype) {
        auto const code = MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL);
        MPI_Type_free(&filetype);
        return error_class(code);
    };
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(4, MPI_INT, &type);
    CHECK_EQUAL(set(type), MPI_ERR_TYPE);  // not committed
    MPI_Type_contiguous(6, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK_EQUAL(set(type), MPI_ERR_ARG);  // one and a half etypes
    for (int const second : {-1, 1}) {    // before the view, before the first
        int const lengths[] = {1, 1}, displacements[] = {3, second};
        MPI_Type_indexed(2, lengths, displacements, MPI_INT, &type);
        MPI_Type_commit(&type);
        CHECK(set(type) != MPI_SUCCESS);
    }
    write_and_check(context, file, DealtView(context, 16));
    close_file(file);
}

TEST(the_mpi_library_gets_hints_of_a_later_view) {
    MPI_File file = open_with_a_view(context);
    auto const* const key = "ind_wr_buffer_size";
    auto const known = !info_value(file, key).empty();
    Info const hints{{key, "16384"}};
    DealtView const next(context, 40);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, next.filetype(), "native", hints));
    write_and_check(context, file, next);
    if (known) CHECK_EQUAL(info_value(file, key), "16384");
    close_file(file);
    if (!known) skip("this MPI library has no such hint");
}

// Others waited in a broadcast for the rank that waited for them.
TEST(ranks_in_different_calls_after_a_view_get_an_error, under_unisono, "natively they hang", 2) {
    MPI_File file = open_with_a_view(context);
    std::uint8_t const byte = 1;
    auto const code =
        context.root() ? MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL)
                       : MPI_File_write_all(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS);
    context.barrier();
    close_file(file);
}

// Natively nothing notices. At the 32nd view ranks meet for another reason as well, and those that
// did so took the odd one's word for something else.
TEST(another_data_representation_on_one_rank_is_an_error_on_all, under_unisono,
     "MPI libraries do not compare them", 2) {
    for (int const views : {1, 2, 31}) {
        MPI_File file = open_file(context, context.path());
        for (int i = 0; i < views; ++i) CHECK_MPI(DealtView(context, 16).set(file));
        std::uint8_t const byte = 1;
        auto code = MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE,
                                      context.root() ? "external32" : "native", MPI_INFO_NULL);
        if (code == MPI_SUCCESS)
            code = MPI_File_write_all(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
        CHECK_EQUAL(error_class(code), MPI_ERR_NOT_SAME);
        close_file(file);
    }
}

void write_without_blocking(Context const& context, MPI_File file, int block) {
    DealtView const view(context, block);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 240);
    MPI_Request request = MPI_REQUEST_NULL;
    if (!context.root()) context.barrier();
    CHECK_MPI(MPI_File_iwrite_at_all(file, 0, data.data(), 240, MPI_BYTE, &request));
    if (context.root()) context.barrier();
    // clang-tidy does not know the call. NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker)
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.barrier();
    check_file(context, context.path(), 240 * static_cast<std::size_t>(context.size));
    context.barrier();
}

// The MPI library does not know the first view; the second one it is told of.
TEST(beginning_a_nonblocking_collective_call_waits_for_nobody, under_unisono,
     "MPICH 4.0.2 hangs in some") {
    MPI_File file = open_with_a_view(context);
    for (int const block : {40, 24}) write_without_blocking(context, file, block);
    close_file(file);
}

}  // namespace

}  // namespace semantics
