// Which bytes a collective write changes: all that were asked for, and no others.

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* stale =
    "native two-phase and sieving write stale buffer bytes or old content into holes";

// Rank r owns the first `used` bytes of block r of each round; the rest of the block is a hole.
Type holey_type(Context const& context, int used, int block) {
    MPI_Aint const begin = static_cast<MPI_Aint>(context.rank) * block;
    MPI_Datatype piece = MPI_DATATYPE_NULL, tile = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed_block(1, used, &begin, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, static_cast<MPI_Aint>(block) * context.size, &tile);
    MPI_Type_free(&piece);
    return Type(tile);
}

// What the file holds after all ranks wrote `rounds` rounds through holey views.
Bytes holey_file(Context const& context, int used, int block, int rounds, Bytes before) {
    auto const blocks = static_cast<std::size_t>(rounds) * context.size;
    auto const end = (blocks - 1) * block + used;
    if (before.size() < end) before.resize(end, 0);
    for (std::size_t i = 0; i < blocks; ++i)
        for (auto offset = i * block; offset < i * block + used; ++offset)
            before[offset] = pattern(static_cast<MPI_Offset>(offset), 9);
    return before;
}

void write_holey(Context const& context, MPI_File file, int used, int block, int rounds) {
    Type const tile = holey_type(context, used, block);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    Bytes data;
    for (int round = 0; round < rounds; ++round) {
        auto const at = (static_cast<MPI_Offset>(round) * context.size + context.rank) * block;
        Bytes const piece = pattern_bytes(at, static_cast<std::size_t>(used), 9);
        data.insert(data.end(), piece.begin(), piece.end());
    }
    MPI_Status status;
    CHECK_MPI(
        MPI_File_write_all(file, data.data(), static_cast<int>(data.size()), MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), static_cast<long long>(data.size()));
}

void check_holes(Context const& context, int used, int block, int rounds, Bytes const& before) {
    if (context.root()) write_whole(context.path(), before);
    context.barrier();
    MPI_File file = open_file(context, context.path());
    write_holey(context, file, used, block, rounds);
    close_file(file);
    check_file(context, context.path(), holey_file(context, used, block, rounds, before));
}

TEST(holes_of_a_fresh_file_are_zero, under_unisono, stale) {
    check_holes(context, 8, 24, 500, {});
    check_holes(context, 1000, 3000, 100, {});
    check_holes(context, 1, 100, 300, {});
}

TEST(bytes_that_nobody_wrote_are_unchanged, under_unisono, stale) {
    check_holes(context, 8, 24, 500, pattern_bytes(0, 100000));
    check_holes(context, 1000, 3000, 100, pattern_bytes(0, 5000));
    check_holes(context, 3, 7, 900, pattern_bytes(0, 40000));
}

// Two groups of ranks write the bytes between each other's through different handles at the same
// time: a read-modify-write of the holes would lose some.
TEST(writers_of_the_holes_do_not_disturb_each_other, under_unisono, stale) {
    int const colour = context.rank % 2;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(context.comm, colour, context.rank, &half);
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(MPI_File_open(half, context.path().c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &file));
    DealtView const view(context, 12);
    CHECK_MPI(view.set(file));
    constexpr int call_bytes = 6000, calls = 12;
    for (int call = 0; call < calls; ++call) {
        Bytes const data = view.data(call * call_bytes, call_bytes);
        CHECK_MPI(MPI_File_write_all(file, data.data(), call_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    close_file(file);
    check_file(context, context.path(),
               static_cast<std::size_t>(calls) * call_bytes * context.size);
    MPI_Comm_free(&half);
}

// At every offset stands the byte of one of the ranks that wrote there.
void check_overlap(Context const& context, Bytes const& whole, long long step, long long bytes) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
        auto const offset = static_cast<long long>(at);
        bool known = false;
        for (int rank = 0; rank < context.size && !known; ++rank)
            known = offset >= rank * step && offset < rank * step + bytes &&
                    whole[at] == pattern(offset, static_cast<unsigned>(rank));
        if (!CHECK(known)) return;
    }
}

TEST(overlapping_ranks_leave_some_writers_byte) {
    constexpr int bytes = 30000;
    for (int step : {0, 1, 777, 10000}) {
        MPI_File file = open_file(context, context.path());
        MPI_Offset const offset = static_cast<MPI_Offset>(context.rank) * step;
        Bytes const data = pattern_bytes(offset, bytes, static_cast<unsigned>(context.rank));
        MPI_Status status;
        CHECK_MPI(MPI_File_write_at_all(file, offset, data.data(), bytes, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), bytes);
        close_file(file);
        context.barrier();
        if (context.root()) {
            Bytes const whole = read_whole(context.path());
            CHECK_EQUAL(whole.size(), static_cast<std::size_t>(bytes + step * (context.size - 1)));
            check_overlap(context, whole, step, bytes);
        }
        context.barrier();
    }
}

TEST(overlapping_views_leave_some_writers_byte, under_unisono, stale) {
    // 24 bytes out of every 32, shifted by 4 bytes per rank: neighbours share some, holes remain.
    Type const piece = make_contiguous(24, MPI_BYTE);
    Type const tile = make_resized(0, 32, piece);
    MPI_File file = open_file(context, context.path());
    MPI_Offset const shift = 4LL * context.rank;
    CHECK_MPI(MPI_File_set_view(file, shift, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    constexpr int pieces = 400;
    Bytes data;
    for (int i = 0; i < pieces; ++i) {
        Bytes const part = pattern_bytes(shift + 32LL * i, 24, static_cast<unsigned>(context.rank));
        data.insert(data.end(), part.begin(), part.end());
    }
    CHECK_MPI(MPI_File_write_all(file, data.data(), 24 * pieces, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    context.barrier();
    if (!context.root()) return;
    Bytes const whole = read_whole(context.path());
    CHECK_EQUAL(whole.size(),
                static_cast<std::size_t>(32 * (pieces - 1) + 24 + 4 * (context.size - 1)));
    for (std::size_t at = 0; at < whole.size(); ++at) {
        bool covered = false, known = false;
        for (int rank = 0; rank < context.size; ++rank) {
            auto const inside = static_cast<long long>(at) - 4LL * rank;
            if (inside < 0 || inside % 32 >= 24 || inside / 32 >= pieces) continue;
            covered = true;
            known |= whole[at] == pattern(static_cast<MPI_Offset>(at), static_cast<unsigned>(rank));
        }
        if (!CHECK(covered ? known : whole[at] == 0)) return;
    }
}

// 8 bytes at 0, 8 bytes at 1 TiB: the emptiness between costs nothing.
TEST(far_apart_pieces) {
    MPI_File file = open_file(context, context.path());
    MPI_Offset const offset = context.rank == context.size - 1 ? 1LL << 40 : 100LL * context.rank;
    Bytes const data = pattern_bytes(offset, 8);
    CHECK_MPI(MPI_File_write_at_all(file, offset, data.data(), 8, MPI_BYTE, MPI_STATUS_IGNORE));
    check_read_at_all(file, offset, data);
    context.barrier();
    CHECK_EQUAL(size_of(file), (1LL << 40) + 8);
    context.barrier();
    close_file(file);
}

}  // namespace

}  // namespace semantics
