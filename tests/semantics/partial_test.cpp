// Ranks that ask for nothing, and reads that the file cannot satisfy in full.
#include <algorithm>
#include <cstring>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* full_counts =
    "MPICH 4.0.2 and Open MPI 4.1.4 give full counts at the end of file";

constexpr std::uint8_t untouched = 0;  // pattern bytes are never zero

TEST(some_ranks_write_nothing) {
    DealtView const view(context, 32);
    MPI_File file = open_file(context, view);
    for (int call = 0; call < 4; ++call) {  // odd ranks, even ranks, nobody, everybody
        bool const takes_part = call == 3 || (call != 2 && context.rank % 2 == call);
        Bytes const data = view.data(call * 320, 320);
        MPI_Status status;
        CHECK_MPI(MPI_File_write_at_all(file, call * 320, takes_part ? data.data() : nullptr,
                                        takes_part ? 320 : 0, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), takes_part ? 320 : 0);
    }
    Bytes back(320);
    for (int call = 0; call < 2; ++call) {
        bool const takes_part = context.rank % 2 == call;
        MPI_Status status;
        CHECK_MPI(MPI_File_read_at_all(file, call * 320, takes_part ? back.data() : nullptr,
                                       takes_part ? 320 : 0, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), takes_part ? 320 : 0);
        if (takes_part) check_bytes(back, view.data(call * 320, 320), "what was read");
    }
    close_file(file);
}

TEST(zero_size_types_take_part) {
    Type const nothing = make_contiguous(0, MPI_INT);
    DealtView const view(context, 32);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 320);
    MPI_Status status;
    bool const takes_part = context.rank == context.size - 1;
    CHECK_MPI(MPI_File_write_all(file, data.data(), takes_part ? 320 : 5,
                                 takes_part ? MPI_BYTE : static_cast<MPI_Datatype>(nothing),
                                 &status));
    CHECK_EQUAL(elements_of(status, MPI_BYTE), takes_part ? 320 : 0);
    CHECK_EQUAL(position_of(file), takes_part ? 320 : 0);
    close_file(file);
}

TEST(only_the_last_rank_takes_part_in_everything) {
    MPI_File file = open_file(context, context.path());
    bool const takes_part = context.rank == context.size - 1;
    Bytes const data = pattern_bytes(0, 100000);
    int const count = takes_part ? 100000 : 0;
    CHECK_MPI(MPI_File_write_all(file, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE));
    Bytes back(100000);
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), count, MPI_BYTE, MPI_STATUS_IGNORE));
    if (takes_part) check_bytes(back, data, "what was read");
    close_file(file);
    check_file(context, context.path(), 100000);
}

// Every rank reads `asked` bytes from rank * step in a file of `bytes` bytes.
void read_at_steps(Context const& context, long long bytes, int asked, int step) {
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
    for (bool const with_pointer : {false, true}) {
        MPI_Offset const offset = static_cast<MPI_Offset>(context.rank) * step;
        auto const expected = static_cast<int>(std::clamp<long long>(bytes - offset, 0, asked));
        Bytes back(static_cast<std::size_t>(asked), untouched);
        MPI_Status status;
        if (with_pointer) {
            CHECK_MPI(MPI_File_seek(file, offset, MPI_SEEK_SET));
            CHECK_MPI(MPI_File_read_all(file, back.data(), asked, MPI_BYTE, &status));
            CHECK_EQUAL(position_of(file), offset + expected);
        } else {
            CHECK_MPI(MPI_File_read_at_all(file, offset, back.data(), asked, MPI_BYTE, &status));
        }
        CHECK_EQUAL(count_of(status), expected);
        CHECK_EQUAL(elements_of(status, MPI_BYTE), expected);
        CHECK_EQUAL(elements_x_of(status, MPI_BYTE), expected);
        Bytes wanted = pattern_bytes(offset, static_cast<std::size_t>(expected));
        wanted.resize(static_cast<std::size_t>(asked), untouched);
        check_bytes(back, wanted, "what was read");
    }
    close_file(file);
}

TEST(reads_past_the_end_are_short, under_unisono, full_counts) {
    prepare_file(context, context.path(), 1000);
    read_at_steps(context, 1000, 1500, 0);    // all end in the middle
    read_at_steps(context, 1000, 400, 700);   // full, short, nothing
    read_at_steps(context, 1000, 100, 1000);  // rank 0 full, the others at and beyond the end
}

TEST(an_empty_file_reads_as_nothing, under_unisono, full_counts) {
    prepare_file(context, context.path(), 0);
    read_at_steps(context, 0, 100, 50);
}

TEST(a_strided_read_past_the_end_is_short, under_unisono, full_counts) {
    DealtView const view(context, 8, MPI_INT);  // 32-byte blocks
    // Two full rounds, and in the third the blocks of all ranks but the last.
    auto const bytes = 32LL * (3 * context.size - 1);
    prepare_file(context, context.path(), static_cast<std::size_t>(bytes));
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
    CHECK_MPI(view.set(file));
    bool const last = context.rank == context.size - 1;
    Bytes back(200, untouched);
    MPI_Status status;
    CHECK_MPI(MPI_File_read_all(file, back.data(), 40, MPI_INT, &status));
    auto const expected = last ? 64 : 96;
    CHECK_EQUAL(count_of(status, MPI_INT), expected / 4);
    CHECK_EQUAL(count_of(status, MPI_BYTE), expected);
    CHECK_EQUAL(position_of(file), expected / 4);
    Bytes wanted = view.data(0, static_cast<std::size_t>(expected));
    wanted.resize(200, untouched);
    check_bytes(back, wanted, "what was read");
    close_file(file);
}

// The file ends in the middle of the derived type: Get_count cannot say it, Get_elements can.
TEST(short_counts_of_derived_types, under_unisono, full_counts) {
    Type const spread = make_vector(4, 1, 2, MPI_INT);  // 16 bytes of data per element
    DealtView const view(context, 4, MPI_BYTE);
    auto const rounds = 13LL;  // 52 bytes per rank: 3 elements and one int
    prepare_file(context, context.path(), static_cast<std::size_t>(4 * rounds * context.size));
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
    CHECK_MPI(view.set(file));
    std::vector<int> memory(64, 0);
    MPI_Status status;
    CHECK_MPI(MPI_File_read_all(file, memory.data(), 5, spread, &status));
    CHECK_EQUAL(count_of(status, spread), static_cast<long long>(MPI_UNDEFINED));
    CHECK_EQUAL(elements_of(status, spread), rounds);
    CHECK_EQUAL(elements_x_of(status, spread), rounds);
    CHECK_EQUAL(count_of(status, MPI_INT), rounds);
    // Elements lie 7 ints apart; of the fourth the first int is there, and no more.
    Bytes const data = view.data(0, 52);
    CHECK(std::memcmp(&memory[21], &data[48], 4) == 0);
    CHECK_EQUAL(memory[23], 0);
    CHECK_MPI(MPI_File_read_at_all(file, 0, memory.data(), 3, spread, &status));
    CHECK_EQUAL(count_of(status, spread), 3);
    CHECK_EQUAL(elements_of(status, spread), 12);
    close_file(file);
}

TEST(full_counts_of_derived_types) {
    Type const spread = make_vector(3, 2, 5, MPI_DOUBLE);
    DealtView const view(context, 5, MPI_DOUBLE);
    MPI_File file = open_file(context, view);
    std::vector<double> memory(200, 2.5);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, memory.data(), 7, spread, &status));
    CHECK_EQUAL(count_of(status, spread), 7);
    CHECK_EQUAL(elements_of(status, spread), 42);
    CHECK_EQUAL(elements_x_of(status, MPI_BYTE), 336);
    CHECK_MPI(MPI_File_read_at_all(file, 0, memory.data(), 7, spread, &status));
    CHECK_EQUAL(count_of(status, spread), 7);
    CHECK_EQUAL(count_of(status, MPI_DOUBLE), 42);
    close_file(file);
}

TEST(independent_reads_past_the_end_are_short, under_unisono, full_counts) {
    DealtView const view(context, 16);
    prepare_file(context, context.path(), static_cast<std::size_t>(16 * 3 * context.size));
    MPI_File file = open_file(context, view);
    // A collective call first: under Unisono the file is then in its hands.
    Bytes const first = view.data(0, 16);
    CHECK_MPI(MPI_File_write_at_all(file, 0, first.data(), 16, MPI_BYTE, MPI_STATUS_IGNORE));
    Bytes back(100, untouched);
    MPI_Status status;
    CHECK_MPI(MPI_File_read(file, back.data(), 100, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 48);
    CHECK_EQUAL(position_of(file), 48);
    CHECK_MPI(MPI_File_read_at(file, 60, back.data(), 10, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 0);
    close_file(file);
}

}  // namespace

}  // namespace semantics
