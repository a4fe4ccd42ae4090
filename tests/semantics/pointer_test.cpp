// The individual file pointer: what moves it, by how much, and what seek and get_byte_offset say.
#include <algorithm>
#include <random>

#include "files.hpp"

namespace semantics {
namespace {

constexpr int block_ints = 4;

TEST(blocking_calls_move_it) {
    DealtView const view(context, block_ints, MPI_INT, 24);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 64);
    CHECK_EQUAL(position_of(file), 0);
    CHECK_MPI(MPI_File_write(file, data.data(), 3, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 3);
    CHECK_MPI(MPI_File_write_all(file, data.data() + 12, 5, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 8);
    CHECK_MPI(MPI_File_write_at(file, 8, data.data() + 32, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 8);
    CHECK_MPI(MPI_File_write_at_all(file, 10, data.data() + 40, 6, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 8);

    Bytes back(64);
    CHECK_MPI(MPI_File_read(file, back.data() + 32, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 9);
    CHECK_MPI(MPI_File_read_all(file, back.data() + 36, 7, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 16);
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 8, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 16);
    check_bytes(back, data, "what was read");
    close_file(file);
}

TEST(zero_counts_leave_it) {
    DealtView const view(context, block_ints, MPI_INT);
    MPI_File file = open_file(context, view);
    CHECK_MPI(MPI_File_seek(file, 5, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_write_all(file, nullptr, 0, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_all(file, nullptr, 0, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_write(file, nullptr, 0, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 5);
    close_file(file);
}

TEST(memory_types_move_it_by_their_size) {
    DealtView const view(context, 8, MPI_SHORT);
    Type const every_second = make_vector(6, 1, 2, MPI_INT);  // 24 bytes of data: 12 etypes
    MPI_File file = open_file(context, view);
    std::vector<int> memory(12, 7);
    CHECK_MPI(MPI_File_write_all(file, memory.data(), 1, every_second, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 12);
    CHECK_MPI(MPI_File_write(file, memory.data(), 1, every_second, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 24);
    close_file(file);
}

TEST(seek_set_and_current) {
    DealtView const view(context, block_ints, MPI_INT, 100);
    MPI_File file = open_file(context, view);
    CHECK_MPI(MPI_File_seek(file, 9, MPI_SEEK_SET));
    CHECK_EQUAL(position_of(file), 9);
    CHECK_MPI(MPI_File_seek(file, -4, MPI_SEEK_CUR));
    CHECK_EQUAL(position_of(file), 5);
    CHECK_MPI(MPI_File_seek(file, 6, MPI_SEEK_CUR));
    CHECK_EQUAL(position_of(file), 11);
    close_file(file);
}

TEST(seek_far, under_unisono,
     "MPICH 4.0.2 walks a strided view tile by tile: a far seek takes minutes") {
    DealtView const view(context, block_ints, MPI_INT, 100);
    MPI_File file = open_file(context, view);
    int const value = 5;
    CHECK_MPI(MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_seek(file, 1LL << 40, MPI_SEEK_SET));
    CHECK_EQUAL(position_of(file), 1LL << 40);
    close_file(file);
}

TEST(seek_before_the_view_fails_and_leaves_it) {
    DealtView const view(context, block_ints, MPI_INT, 100);
    MPI_File file = open_file(context, view);
    CHECK_MPI(MPI_File_seek(file, 3, MPI_SEEK_SET));
    CHECK_FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET));
    CHECK_EQUAL(position_of(file), 3);
    CHECK_FAILS(MPI_File_seek(file, -4, MPI_SEEK_CUR));
    CHECK_EQUAL(position_of(file), 3);
    close_file(file);
}

TEST(seek_end_counts_in_the_view, all_but_native_openmpi,
     "OMPIO of Open MPI 4.1.4 takes the wrong end of a view with holes") {
    constexpr int blocks = 6;
    DealtView const view(context, block_ints, MPI_INT, 40);
    auto const bytes = 40 + blocks * context.size * view.block_bytes();
    prepare_file(context, context.path(), static_cast<std::size_t>(bytes));
    MPI_File file = open_file(context, view);
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
    CHECK_EQUAL(position_of(file), blocks * block_ints);
    CHECK_MPI(MPI_File_seek(file, -5, MPI_SEEK_END));
    CHECK_EQUAL(position_of(file), blocks * block_ints - 5);
    int value = 0;
    CHECK_MPI(MPI_File_read_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    Bytes actual(sizeof value);
    std::copy_n(reinterpret_cast<std::uint8_t*>(&value), sizeof value, actual.begin());
    check_bytes(actual, view.data((blocks * block_ints - 5) * 4, 4), "read after SEEK_END");
    close_file(file);
}

// Tile t: ints t and t + 4, so the data are ints 0 4 1 5 2 6 ... It was refused where the MPI
// library did not know the view, and else left to it.
TEST(seek_end_is_behind_the_file_where_tiles_run_into_each_other, under_unisono,
     "MPICH 4.0.2 and Open MPI 4.1.4 take an etype within the file") {
    constexpr int ints = 6;
    prepare_file(context, context.path(), ints * sizeof(int));
    MPI_File file = open_file(context, context.path());
    Type const far = make_vector(2, 1, 4, MPI_INT);
    Type const tile = make_resized(0, sizeof(int), far);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
    CHECK_EQUAL(position_of(file), 2 * 2 + 1);
    CHECK_MPI(MPI_File_seek_shared(file, -1, MPI_SEEK_END));
    CHECK_EQUAL(shared_position_of(file), 2 * 2);
    MPI_Offset place = -1;
    CHECK_MPI(MPI_File_get_byte_offset(file, position_of(file), &place));
    CHECK_EQUAL(place, MPI_Offset{ints * sizeof(int)});
    close_file(file);
}

TEST(set_view_resets_it) {
    DealtView const ints(context, block_ints, MPI_INT), bytes(context, 3, MPI_BYTE, 5);
    MPI_File file = open_file(context, ints);
    CHECK_MPI(MPI_File_seek(file, 7, MPI_SEEK_SET));
    CHECK_MPI(bytes.set(file));
    CHECK_EQUAL(position_of(file), 0);
    Bytes const data = bytes.data(0, 10);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 10);
    CHECK_MPI(ints.set(file));
    CHECK_EQUAL(position_of(file), 0);
    close_file(file);
}

TEST(split_calls_move_it) {
    DealtView const view(context, block_ints, MPI_INT);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 40);
    Bytes back(40);
    CHECK_MPI(MPI_File_write_all_begin(file, data.data(), 10, MPI_INT));
    CHECK_MPI(MPI_File_write_all_end(file, data.data(), MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 10);
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_read_all_begin(file, back.data(), 10, MPI_INT));
    CHECK_MPI(MPI_File_read_all_end(file, back.data(), MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 10);
    CHECK_MPI(MPI_File_write_at_all_begin(file, 50, data.data(), 10, MPI_INT));
    CHECK_MPI(MPI_File_write_at_all_end(file, data.data(), MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 10);
    check_bytes(back, data, "what was read");
    close_file(file);
}

// As a blocking one does: it was where the whole request would have ended.
TEST(a_short_split_read_moves_it_by_what_was_read, under_unisono,
     "Open MPI 4.1.4 counts what it asked for") {
    MPI_File file = open_file(context, context.path());
    Bytes const data(30, 7);
    CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), 30, MPI_BYTE, MPI_STATUS_IGNORE));
    context.barrier();
    Bytes back(40);
    MPI_Status status;
    CHECK_MPI(MPI_File_seek(file, 10, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_read_all_begin(file, back.data(), 40, MPI_BYTE));
    CHECK_MPI(MPI_File_read_all_end(file, back.data(), &status));
    CHECK_EQUAL(count_of(status, MPI_BYTE), 20);
    CHECK_EQUAL(position_of(file), 30);
    close_file(file);
}

// MPI: one at a time for a file.
TEST(a_second_split_call_is_refused_and_the_first_goes_on) {
    MPI_File file = open_file(context, context.path());
    Bytes const data(100, 7);
    Bytes back(10);
    MPI_Offset const mine = context.rank * 100;
    CHECK_MPI(MPI_File_write_at_all_begin(file, mine, data.data(), 100, MPI_BYTE));
    CHECK(MPI_File_read_at_all_begin(file, 0, back.data(), 10, MPI_BYTE) != MPI_SUCCESS);
    CHECK(MPI_File_write_ordered_begin(file, data.data(), 10, MPI_BYTE) != MPI_SUCCESS);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_at_all_end(file, data.data(), &status));
    CHECK_EQUAL(count_of(status, MPI_BYTE), 100);
    CHECK_MPI(MPI_File_read_at_all_begin(file, mine, back.data(), 10, MPI_BYTE));
    CHECK_MPI(MPI_File_read_at_all_end(file, back.data(), MPI_STATUS_IGNORE));
    check_bytes(back, Bytes(10, 7), "what was read");
    close_file(file);
}

// What has no begin call, or one of another kind.
TEST(an_end_without_its_begin_is_refused, under_unisono,
     "ROMIO takes any end for that of the call that has begun, and so does OMPIO") {
    MPI_File file = open_file(context, context.path());
    Bytes const data(100, 7);
    Bytes back(100);
    MPI_Offset const mine = context.rank * 100;
    CHECK_FAILS(MPI_File_write_all_end(file, data.data(), MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_write_at_all_begin(file, mine, data.data(), 100, MPI_BYTE));
    CHECK_FAILS(MPI_File_read_at_all_end(file, back.data(), MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_write_all_end(file, data.data(), MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_write_ordered_end(file, data.data(), MPI_STATUS_IGNORE));
    MPI_Status status;
    CHECK_MPI(MPI_File_write_at_all_end(file, data.data(), &status));
    CHECK_EQUAL(count_of(status, MPI_BYTE), 100);
    int const code = MPI_File_write_at_all_end(file, data.data(), &status);
    CHECK(code != MPI_SUCCESS);
    if (context.unisono)
        CHECK(error_text(code).find("no split call has begun") != std::string::npos);
    check_read_at_all(file, mine, data);
    close_file(file);
}

// MPI: the pointer is updated by the call that starts the access.
TEST(nonblocking_calls_move_it_at_once) {
    DealtView const view(context, block_ints, MPI_INT);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 40);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite(file, data.data(), 4, MPI_INT, &request));
    CHECK_EQUAL(position_of(file), 4);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_iwrite_all(file, data.data() + 16, 6, MPI_INT, &request));
    CHECK_EQUAL(position_of(file), 10);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    Bytes back(40);
    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_iread_all(file, back.data(), 10, MPI_INT, &request));
    CHECK_EQUAL(position_of(file), 10);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 10);
    check_bytes(back, data, "what was read");
    close_file(file);
}

TEST(byte_offsets_follow_the_view) {
    DealtView const view(context, block_ints, MPI_INT, 1000);
    MPI_File file = open_file(context, view);
    for (MPI_Offset etype : {0LL, 1LL, 3LL, 4LL, 5LL, 7LL, 8LL, 4001LL, 1LL << 36}) {
        MPI_Offset offset = -1;
        CHECK_MPI(MPI_File_get_byte_offset(file, etype, &offset));
        CHECK_EQUAL(offset, view.offset(etype * 4));
    }
    close_file(file);
}

TEST(byte_offsets_of_a_nested_view) {
    Type const pairs = make_vector(2, 1, 3, MPI_INT);  // bytes 0-3, 12-15
    Type const padded = make_resized(0, 64, pairs);    // one pair per 64 bytes
    Type const nested = make_vector(2, 1, 3, padded);  // pairs at 0 and 192, extent 256
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 8, MPI_INT, nested, "native", MPI_INFO_NULL));
    MPI_Offset const expected[] = {8, 20, 200, 212, 264, 276, 456, 468};
    for (int etype = 0; etype < 8; ++etype) {
        MPI_Offset offset = -1;
        CHECK_MPI(MPI_File_get_byte_offset(file, etype, &offset));
        CHECK_EQUAL(offset, expected[etype]);
    }
    close_file(file);
}

enum class Way { independent, collective, split, nonblocking, nonblocking_collective, ways };

void write_in_one_way(MPI_File file, Way way, Bytes const& data) {
    auto const count = static_cast<int>(data.size());
    MPI_Request request = MPI_REQUEST_NULL;
    switch (way) {
        case Way::independent:
            CHECK_MPI(MPI_File_write(file, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE));
            break;
        case Way::collective:
            CHECK_MPI(MPI_File_write_all(file, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE));
            break;
        case Way::split:
            CHECK_MPI(MPI_File_write_all_begin(file, data.data(), count, MPI_BYTE));
            CHECK_MPI(MPI_File_write_all_end(file, data.data(), MPI_STATUS_IGNORE));
            break;
        case Way::nonblocking:
            CHECK_MPI(MPI_File_iwrite(file, data.data(), count, MPI_BYTE, &request));
            break;
        default:
            CHECK_MPI(MPI_File_iwrite_all(file, data.data(), count, MPI_BYTE, &request));
    }
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// Forty writes in ways drawn by lot, the same on all ranks; sizes differ from rank to rank.
TEST(mixed_calls_write_one_after_the_other) {
    DealtView const view(context, 24, MPI_BYTE, 3);
    MPI_File file = open_file(context, view);
    std::mt19937 way_lot(7), size_lot(100 + static_cast<unsigned>(context.rank));
    MPI_Offset position = 0;
    for (int call = 0; call < 40; ++call) {
        auto const way = static_cast<Way>(way_lot() % static_cast<unsigned>(Way::ways));
        auto const bytes = size_lot() % 90;
        write_in_one_way(file, way, view.data(position, bytes));
        position += bytes;
        CHECK_EQUAL(position_of(file), position);
    }
    Bytes back(static_cast<std::size_t>(position));
    CHECK_MPI(MPI_File_seek(file, -position, MPI_SEEK_CUR));
    CHECK_MPI(MPI_File_read_all(file, back.data(), static_cast<int>(position), MPI_BYTE,
                                MPI_STATUS_IGNORE));
    check_bytes(back, view.data(0, back.size()), "what was read");
    CHECK_EQUAL(position_of(file), position);
    close_file(file);
}

}  // namespace

}  // namespace semantics
