// MPI's default consistency: a rank sees its own writes at once, others after sync-barrier-sync or
// close and open.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* mixed = "Open MPI 4.1.4 says that it is atomic, and mixes data";

constexpr char const* rank_goes_early =
    "OMPIO of Open MPI 4.1.4 lets a rank go before its aggregator has written";

constexpr int mine_bytes = 4000;

TEST(independent_read_sees_own_collective_write, all_but_native_openmpi, rank_goes_early) {
    DealtView const view(context, 48);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, mine_bytes);
    Bytes back(mine_bytes);
    CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), mine_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_at(file, 100, back.data() + 100, 3000, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read(file, back.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iread_at(file, 3100, back.data() + 3100, 900, MPI_BYTE, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_bytes(back, data, "independent read");
    close_file(file);
}

TEST(collective_read_sees_own_independent_write) {
    DealtView const view(context, 48);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, mine_bytes);
    CHECK_MPI(MPI_File_write(file, data.data(), 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_write_at(file, 1000, data.data() + 1000, 3000, MPI_BYTE, MPI_STATUS_IGNORE));
    check_read_at_all(file, 0, data, "collective read");
    close_file(file);
}

TEST(the_last_own_write_wins, all_but_native_openmpi, rank_goes_early) {
    DealtView const view(context, 100);
    MPI_File file = open_file(context, view);
    Bytes const first = view.data(0, mine_bytes, 1), second = view.data(0, mine_bytes, 2),
                third = view.data(0, mine_bytes, 3);
    Bytes expected = first;
    CHECK_MPI(
        MPI_File_write_at_all(file, 0, first.data(), mine_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_write_at(file, 50, second.data() + 50, 500, MPI_BYTE, MPI_STATUS_IGNORE));
    std::copy_n(second.begin() + 50, 500, expected.begin() + 50);
    check_read_at_all(file, 0, expected, "independent over collective");
    CHECK_MPI(
        MPI_File_write_at_all(file, 300, third.data() + 300, 900, MPI_BYTE, MPI_STATUS_IGNORE));
    std::copy_n(third.begin() + 300, 900, expected.begin() + 300);
    check_read_at(file, 0, expected, "collective over independent");
    close_file(file);
    context.barrier();
    Bytes const whole = read_whole(context.path());
    for (int i = 0; i < mine_bytes; ++i) {
        auto const offset = static_cast<std::size_t>(view.offset(i));
        if (!CHECK(offset < whole.size()) || !CHECK_EQUAL(int{whole[offset]}, int{expected[i]}))
            break;
    }
}

TEST(own_writes_survive_a_change_of_view, all_but_native_openmpi, rank_goes_early) {
    DealtView const fine(context, 16), coarse(context, 160);
    MPI_File file = open_file(context, fine);
    Bytes const data = fine.data(0, 1600);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 1600, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    Bytes back(16);
    check_read_at(file, fine.offset(32), fine.data(32, 16), "own block through another view");
    CHECK_MPI(coarse.set(file));
    sync_on_all(context, file);
    back.resize(1600);
    CHECK_MPI(MPI_File_read_all(file, back.data(), 1600, MPI_BYTE, MPI_STATUS_IGNORE));
    check_bytes(back, coarse.data(0, 1600), "everybody's blocks through another view");
    close_file(file);
}

void read_as_neighbour(Context const& context, MPI_File file, unsigned salt) {
    auto const neighbour = (context.rank + 1) % context.size;
    DealtView const theirs(neighbour, context.size, 40);
    CHECK_MPI(theirs.set(file));
    check_read_at_all(file, 0, theirs.data(0, mine_bytes, salt),
                      "collective read of the neighbour's");
    check_read_at(file, 0, theirs.data(0, mine_bytes, salt), "independent read of the neighbour's");
}

TEST(others_see_it_after_sync_barrier_sync) {
    MPI_File file = open_file(context, context.path());
    for (unsigned salt = 0; salt < 3; ++salt) {
        DealtView const view(context, 40);
        CHECK_MPI(view.set(file));
        Bytes const data = view.data(0, mine_bytes, salt);
        if (salt == 1)
            CHECK_MPI(MPI_File_write(file, data.data(), mine_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        else
            CHECK_MPI(
                MPI_File_write_all(file, data.data(), mine_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        sync_on_all(context, file);
        read_as_neighbour(context, file, salt);
        sync_on_all(context, file);
    }
    close_file(file);
}

TEST(others_see_it_after_close_and_open) {
    DealtView const view(context, 40);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, mine_bytes);
    CHECK_MPI(MPI_File_write_all(file, data.data(), mine_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    context.barrier();
    file = open_file(context, context.path(), MPI_MODE_RDONLY);
    read_as_neighbour(context, file, 0);
    close_file(file);
}

TEST(system_calls_see_it_after_sync) {
    DealtView const view(context, 50);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, mine_bytes);
    CHECK_MPI(MPI_File_write_all(file, data.data(), mine_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_sync(file));
    check_file(context, context.path(), static_cast<std::size_t>(mine_bytes) * context.size);
    close_file(file);
}

TEST(a_second_handle_sees_it_after_sync) {
    DealtView const view(context, 64);
    MPI_File writer = open_file(context, context.path());
    MPI_File reader = open_file(context, context.path());
    CHECK_MPI(view.set(writer));
    CHECK_MPI(view.set(reader));
    for (unsigned salt = 0; salt < 2; ++salt) {
        Bytes const data = view.data(0, mine_bytes, salt);
        CHECK_MPI(
            MPI_File_write_at_all(writer, 0, data.data(), mine_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_File_sync(writer));
        context.barrier();
        CHECK_MPI(MPI_File_sync(reader));
        check_read_at_all(reader, 0, data, "read through the second handle");
        context.barrier();
    }
    close_file(reader);
    close_file(writer);
}

// Writes that repeat are each rank's own.
bool writes_behind() {
    auto const is = [](char const* name, std::string_view value) {
        auto const* const set = std::getenv(name);
        return set != nullptr && set == value;
    };
    auto const in_blocks = is("UNISONO_STRATEGY", "view_based");
    return is("UNISONO_WRITE_BEHIND", "enable") ||
           (in_blocks && !is("UNISONO_WRITE_BEHIND", "disable"));
}

// get_size is local: a collective write that grows the file has done so when it returns.
TEST(the_size_is_right_after_a_collective_write) {
    if (writes_behind()) return skip("ranks know of their own writes only");
    DealtView const view(context, 64);
    MPI_File file = open_file(context, view);
    for (int call = 1; call <= 3; ++call) {
        Bytes const data = view.data((call - 1) * 640, 640);
        CHECK_MPI(MPI_File_write_all(file, data.data(), 640, MPI_BYTE, MPI_STATUS_IGNORE));
        context.barrier();
        CHECK_EQUAL(size_of(file), 640LL * call * context.size);
        context.barrier();
    }
    close_file(file);
}

// Nothing is synced: MPI promises a rank its own bytes.
TEST(the_file_has_the_bytes_that_this_rank_has_written, all_but_native_openmpi, rank_goes_early) {
    constexpr int calls = 8;
    DealtView const view(context, 64);
    MPI_File file = open_file(context, view);
    for (int call = 1; call <= calls; ++call) {
        Bytes const data = view.data((call - 1) * 640, 640);
        CHECK_MPI(MPI_File_write_all(file, data.data(), 640, MPI_BYTE, MPI_STATUS_IGNORE));
        auto const own_end = 640LL * call * context.size - 64 * (context.size - 1 - context.rank);
        CHECK(size_of(file) >= own_end);
        MPI_Offset position = -1;
        CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
        CHECK_MPI(MPI_File_get_position(file, &position));
        CHECK(position >= 640 * call);
        CHECK_MPI(MPI_File_seek(file, 640 * call, MPI_SEEK_SET));
        Bytes back(640);
        MPI_Status status;
        CHECK_MPI(MPI_File_read_at(file, (call - 1) * 640, back.data(), 640, MPI_BYTE, &status));
        check_bytes(back, data, "own bytes");
    }
    CHECK_MPI(MPI_File_sync(file));
    context.barrier();
    CHECK_EQUAL(size_of(file), 640LL * calls * context.size);
    context.barrier();
    close_file(file);
}

// In atomic mode no rank's data are mixed with another's, however many pieces they have.
constexpr int atomic_pieces = 2000, atomic_piece_bytes = 64;
constexpr int atomic_bytes = atomic_pieces * atomic_piece_bytes;

// All ranks' views are the same.
MPI_File open_atomic(Context const& context) {
    MPI_File file = open_file(context, context.path());
    Type const pieces =
        make_vector(atomic_pieces, atomic_piece_bytes, 2 * atomic_piece_bytes, MPI_BYTE);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, pieces, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_set_atomicity(file, 1));
    return file;
}

void check_of_one_rank(Bytes const& read, char const* what) {
    check_bytes(read, Bytes(read.size(), read.at(0)), what);
}

Bytes of_this_rank(Context const& context) {
    return Bytes(atomic_bytes, static_cast<std::uint8_t>('a' + context.rank));
}

TEST(atomic_collective_writes_are_not_mixed, all_but_native_openmpi, mixed) {
    auto const mine = of_this_rank(context);
    Bytes back(atomic_bytes);
    MPI_File file = open_atomic(context);
    for (int turn = 0; turn < 5; ++turn) {
        CHECK_MPI(
            MPI_File_write_at_all(file, 0, mine.data(), atomic_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        context.barrier();
        CHECK_MPI(
            MPI_File_read_at_all(file, 0, back.data(), atomic_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        check_of_one_rank(back, "after write_at_all");
        context.barrier();
    }
    close_file(file);
}

TEST(atomic_independent_calls_are_not_mixed, all_but_native_openmpi, mixed) {
    auto const mine = of_this_rank(context);
    Bytes back(atomic_bytes);
    MPI_File file = open_atomic(context);
    for (int turn = 0; turn < 20; ++turn) {
        CHECK_MPI(
            MPI_File_write_at(file, 0, mine.data(), atomic_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK_MPI(
            MPI_File_read_at(file, 0, back.data(), atomic_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        check_of_one_rank(back, "beside other ranks' write_at");
    }
    close_file(file);
}

TEST(atomic_nonblocking_calls_are_not_mixed, under_unisono,
     "MPICH 4.0.2 and Open MPI 4.1.4 mix data of nonblocking calls") {
    auto const mine = of_this_rank(context);
    Bytes back(atomic_bytes);
    MPI_File file = open_atomic(context);
    for (int turn = 0; turn < 5; ++turn) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        CHECK_MPI(
            MPI_File_iwrite_at_all(file, 0, mine.data(), atomic_bytes, MPI_BYTE, &requests[0]));
        CHECK_MPI(MPI_File_iread_at(file, 0, back.data(), atomic_bytes, MPI_BYTE, &requests[1]));
        CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        check_of_one_rank(back, "beside iwrite_at_all");
        context.barrier();
    }
    close_file(file);
}

TEST(atomic_writes_are_seen_without_a_sync) {
    MPI_File file = open_atomic(context);
    auto const mine = of_this_rank(context);
    CHECK_MPI(MPI_File_write_at_all(file, MPI_Offset{atomic_bytes} * context.rank, mine.data(),
                                    atomic_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    context.barrier();
    auto const next = (context.rank + 1) % context.size;
    Bytes back(atomic_bytes);
    CHECK_MPI(MPI_File_read_at(file, MPI_Offset{atomic_bytes} * next, back.data(), atomic_bytes,
                               MPI_BYTE, MPI_STATUS_IGNORE));
    check_bytes(back, Bytes(atomic_bytes, static_cast<std::uint8_t>('a' + next)),
                "the next rank's");
    close_file(file);
}

}  // namespace

}  // namespace semantics
