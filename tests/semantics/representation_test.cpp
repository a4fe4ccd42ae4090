// Data representations: "internal", which is "native", and "external32", which is converted on the
// way. The oracle is the standard's description of the bytes.
#include <array>
#include <cstddef>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* wrong_lengths =
    "MPICH 4.0.2 and Open MPI 4.1.4 place a long where one of eight bytes would be";

void append_reversed(Bytes& file, void const* number, std::size_t bytes) {
    auto const* const begin = static_cast<std::uint8_t const*>(number);
    for (auto i = bytes; i-- > 0;) file.push_back(begin[i]);
}

// A record of which each part has another length or alignment in the file.
struct Record {
    char letter;
    long number;
    short small;
    double real;
    unsigned long natural;
};

Type record_type() {
    std::array<int, 5> const lengths{1, 1, 1, 1, 1};
    std::array<MPI_Aint, 5> const offsets{offsetof(Record, letter), offsetof(Record, number),
                                          offsetof(Record, small), offsetof(Record, real),
                                          offsetof(Record, natural)};
    std::array<MPI_Datatype, 5> const types{MPI_CHAR, MPI_LONG, MPI_SHORT, MPI_DOUBLE,
                                            MPI_UNSIGNED_LONG};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(5, lengths.data(), offsets.data(), types.data(), &type);
    return make_resized(0, sizeof(Record), Type{type});
}

// In the file: byte aligned, 1 + 4 + 2 + 8 + 4 bytes.
Type record_in_file() {
    std::array<int, 5> const lengths{1, 1, 1, 1, 1};
    std::array<MPI_Aint, 5> const offsets{0, 1, 5, 7, 15};
    std::array<MPI_Datatype, 5> const types{MPI_CHAR, MPI_LONG, MPI_SHORT, MPI_DOUBLE,
                                            MPI_UNSIGNED_LONG};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(5, lengths.data(), offsets.data(), types.data(), &type);
    return make_resized(0, 19, Type{type});
}

Record record_of(int number) {
    Record record{};
    record.letter = static_cast<char>('a' + number % 26);
    record.number = -1000L * number;
    record.small = static_cast<short>(-number);
    record.real = number / 3.0;
    record.natural = 3'000'000'000UL + static_cast<unsigned long>(number);
    return record;
}

Bytes bytes_in_file(Record const& record) {
    Bytes bytes{static_cast<std::uint8_t>(record.letter)};
    append_reversed(bytes, &record.number, 4);  // the lower half comes first in memory
    append_reversed(bytes, &record.small, 2);
    append_reversed(bytes, &record.real, 8);
    append_reversed(bytes, &record.natural, 4);
    return bytes;
}

bool same(Record const& one, Record const& other) {
    return one.letter == other.letter && one.number == other.number && one.small == other.small &&
           one.real == other.real && one.natural == other.natural;
}

// Ranks' records in turn, two by two.
constexpr int per_rank = 6;

struct Records {
    std::vector<Record> mine;
    Type memory = record_type();
    Type etype = record_in_file();
    Type tile;

    explicit Records(Context const& context)
        : tile{make_resized(0, 19 * 2 * context.size, make_contiguous(2, etype))} {
        for (int i = 0; i < per_rank; ++i) mine.push_back(record_of(index_of(context, i)));
    }
    static int index_of(Context const& context, int i) {
        return (i / 2 * context.size + context.rank) * 2 + i % 2;
    }
    [[nodiscard]] int set(Context const& context, MPI_File file) const {
        return MPI_File_set_view(file, 19L * 2 * context.rank, etype, tile, "external32",
                                 MPI_INFO_NULL);
    }
    void check(std::vector<Record> const& read, char const* what) const {
        for (std::size_t i = 0; i < mine.size(); ++i)
            if (!check_true(same(read[i], mine[i]), what, __FILE__, __LINE__)) return;
    }
};

void check_records(Context const& context) {
    Bytes expected;
    for (int i = 0; i < per_rank * context.size; ++i) {
        auto const record = bytes_in_file(record_of(i));
        expected.insert(expected.end(), record.begin(), record.end());
    }
    check_file(context, context.path(), expected, "records in external32");
}

TEST(a_record_is_as_the_standard_says, under_unisono, wrong_lengths) {
    MPI_File file = open_file(context, context.path());
    Records const records{context};
    CHECK_MPI(records.set(context, file));
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, records.mine.data(), per_rank, records.memory, &status));
    CHECK_EQUAL(count_of(status, records.memory), per_rank);
    CHECK_EQUAL(position_of(file), per_rank);
    std::vector<Record> back(per_rank);
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), per_rank, records.memory, &status));
    CHECK_EQUAL(count_of(status, records.memory), per_rank);
    records.check(back, "read_at_all");
    std::vector<Record> alone(per_rank);
    CHECK_MPI(MPI_File_read_at(file, 0, alone.data(), per_rank, records.memory, &status));
    CHECK_EQUAL(count_of(status, records.memory), per_rank);
    records.check(alone, "read_at");
    close_file(file);
    check_records(context);
}

TEST(written_alone, under_unisono, wrong_lengths) {
    MPI_File file = open_file(context, context.path());
    Records const records{context};
    CHECK_MPI(records.set(context, file));
    CHECK_MPI(MPI_File_write_at(file, 2, &records.mine[2], 4, records.memory, MPI_STATUS_IGNORE));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite_at(file, 0, records.mine.data(), 2, records.memory, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    close_file(file);
    check_records(context);
}

TEST(nonblocking_and_split, under_unisono, wrong_lengths) {
    MPI_File file = open_file(context, context.path());
    Records const records{context};
    CHECK_MPI(records.set(context, file));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    CHECK_MPI(MPI_File_iwrite_at_all(file, 0, records.mine.data(), 4, records.memory, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_EQUAL(count_of(status, records.memory), 4);
    CHECK_MPI(MPI_File_write_at_all_begin(file, 4, &records.mine[4], 2, records.memory));
    CHECK_MPI(MPI_File_write_at_all_end(file, &records.mine[4], &status));
    CHECK_EQUAL(count_of(status, records.memory), 2);
    std::vector<Record> back(per_rank);
    CHECK_MPI(MPI_File_iread_at_all(file, 0, back.data(), per_rank, records.memory, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    records.check(back, "iread_at_all");
    std::vector<Record> split(per_rank);
    CHECK_MPI(MPI_File_read_at_all_begin(file, 0, split.data(), per_rank, records.memory));
    CHECK_MPI(MPI_File_read_at_all_end(file, split.data(), &status));
    CHECK_EQUAL(count_of(status, records.memory), per_rank);
    records.check(split, "read_at_all_begin");
    close_file(file);
    check_records(context);
}

// MPICH 4.0.2 writes such calls as memory has the data.
TEST(a_nonblocking_call_converts_ints, all_but_native_mpich,
     "MPICH 4.0.2 does not convert in nonblocking calls") {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    int const value = 0x01020304;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite_at(file, context.rank, &value, 1, MPI_INT, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    close_file(file);
    Bytes expected;
    for (int i = 0; i < context.size; ++i) expected.insert(expected.end(), {1, 2, 3, 4});
    check_file(context, context.path(), expected, "ints in external32");
}

TEST(extents_in_the_file, under_unisono,
     "MPICH 4.0.2 and Open MPI 4.1.4 answer with extents in memory") {
    MPI_File file = open_file(context, context.path());
    auto const extent_of = [&](MPI_Datatype type) {
        MPI_Aint extent = -1;
        CHECK_MPI(MPI_File_get_type_extent(file, type, &extent));
        return static_cast<long long>(extent);
    };
    Type const memory = record_type();
    Type const vector = make_vector(3, 2, 5, MPI_LONG);
    for (char const* name : {"native", "internal"}) {
        CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, name, MPI_INFO_NULL));
        CHECK_EQUAL(extent_of(MPI_LONG), sizeof(long));
        CHECK_EQUAL(extent_of(vector), 12 * static_cast<int>(sizeof(long)));
    }
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
    CHECK_EQUAL(extent_of(MPI_INT), 4);
    CHECK_EQUAL(extent_of(MPI_LONG), 4);
    CHECK_EQUAL(extent_of(MPI_UNSIGNED_LONG), 4);
    CHECK_EQUAL(extent_of(MPI_WCHAR), 2);
    CHECK_EQUAL(extent_of(MPI_LONG_DOUBLE), 16);
    CHECK_EQUAL(extent_of(MPI_C_BOOL), 1);
    CHECK_EQUAL(extent_of(MPI_AINT), 8);
    CHECK_EQUAL(extent_of(vector), 12 * 4);
    CHECK_EQUAL(extent_of(memory), sizeof(Record));  // was stated
    close_file(file);
}

// Displacements in elements mean elements of the file.
TEST(a_view_of_longs_is_half_as_far_apart, under_unisono, wrong_lengths) {
    MPI_File file = open_file(context, context.path());
    Type const row = make_vector(2, 1, context.size, MPI_LONG);
    CHECK_MPI(
        MPI_File_set_view(file, 4L * context.rank, MPI_LONG, row, "external32", MPI_INFO_NULL));
    std::array<long, 2> const values{context.rank, -1 - context.rank};
    CHECK_MPI(MPI_File_write_all(file, values.data(), 2, MPI_LONG, MPI_STATUS_IGNORE));
    MPI_Offset offset = -1;
    CHECK_MPI(MPI_File_get_byte_offset(file, 1, &offset));
    CHECK_EQUAL(offset, 4L * context.rank + 4L * context.size);
    std::array<long, 2> back{};
    CHECK_MPI(MPI_File_read_at(file, 0, back.data(), 2, MPI_LONG, MPI_STATUS_IGNORE));
    CHECK(back == values);
    close_file(file);
    Bytes expected;
    for (int part = 0; part < 2; ++part)
        for (int rank = 0; rank < context.size; ++rank) {
            int const value = part == 0 ? rank : -1 - rank;
            append_reversed(expected, &value, 4);
        }
    check_file(context, context.path(), expected, "longs in external32");
}

TEST(long_doubles_and_wide_characters, under_unisono,
     "MPICH 4.0.2 has 80 bits of a long double, Open MPI 4.1.4 what is in its memory") {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(
        MPI_File_set_view(file, 0, MPI_LONG_DOUBLE, MPI_LONG_DOUBLE, "external32", MPI_INFO_NULL));
    long double const value = -1.5L * (context.rank + 1);
    CHECK_MPI(
        MPI_File_write_at_all(file, context.rank, &value, 1, MPI_LONG_DOUBLE, MPI_STATUS_IGNORE));
    long double back = 0;
    CHECK_MPI(MPI_File_read_at(file, context.rank, &back, 1, MPI_LONG_DOUBLE, MPI_STATUS_IGNORE));
    CHECK(back == value);
    CHECK_MPI(MPI_File_sync(file));
    context.barrier();
    if (context.root()) {
        auto const whole = read_whole(context.path());
        Bytes const expected{0xbf, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        check_bytes({whole.begin(), whole.begin() + 16}, expected, "-1.5 in external32");
    }
    context.barrier();
    CHECK_MPI(MPI_File_set_size(file, 0));
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_WCHAR, MPI_WCHAR, "external32", MPI_INFO_NULL));
    wchar_t const letter = L'\u20ac';
    CHECK_MPI(MPI_File_write_at_all(file, context.rank, &letter, 1, MPI_WCHAR, MPI_STATUS_IGNORE));
    wchar_t letter_back = 0;
    CHECK_MPI(
        MPI_File_read_at_all(file, context.rank, &letter_back, 1, MPI_WCHAR, MPI_STATUS_IGNORE));
    CHECK(letter_back == letter);
    CHECK_EQUAL(size_of(file), 2LL * context.size);
    close_file(file);
}

// Of what a read finds, whole numbers count: 6 bytes are one long in external32, and a half.
TEST(a_short_read_counts_memory_bytes, under_unisono, wrong_lengths) {
    write_whole(context.path(), Bytes{});
    context.barrier();
    if (context.root()) write_whole(context.path(), {0xff, 0xff, 0xff, 0xfe, 1, 2});
    context.barrier();
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    std::array<long, 3> read{7, 7, 7};
    MPI_Status status;
    CHECK_MPI(MPI_File_read_at_all(file, 0, read.data(), 3, MPI_LONG, &status));
    CHECK_EQUAL(count_of(status, MPI_LONG), 1);
    CHECK_EQUAL(read[0], -2);
    CHECK_EQUAL(read[1], 7);
    CHECK_MPI(MPI_File_read_at(file, 0, read.data(), 3, MPI_LONG, &status));
    CHECK_EQUAL(count_of(status, MPI_LONG), 1);
    CHECK_EQUAL(position_of(file), 0);
    close_file(file);
}

// What the MPI library would put into the wrong place is refused, on all ranks.
TEST(shared_writes_of_longs_are_refused, under_unisono, wrong_lengths) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    long const value = context.rank;
    int const code = MPI_File_write_shared(file, &value, 1, MPI_LONG, MPI_STATUS_IGNORE);
    CHECK_EQUAL(error_class(code), MPI_ERR_UNSUPPORTED_OPERATION);
    close_file(file);
    context.barrier();
    if (context.root()) CHECK(read_whole(context.path()).empty());
    context.barrier();
}

TEST(internal_is_native, under_unisono,
     "Open MPI 4.1.4 refuses it, MPICH 4.0.2 names it otherwise") {
    MPI_File file = open_file(context, context.path());
    DealtView const view(context, 3, MPI_INT);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, view.filetype(), "internal", MPI_INFO_NULL));
    MPI_Offset displacement = -1;
    MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
    std::array<char, MPI_MAX_DATAREP_STRING + 1> name{};
    CHECK_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, name.data()));
    CHECK_EQUAL(std::string{name.data()}, std::string{"internal"});
    MPI_Type_free(&filetype);
    std::vector<int> const mine(9, 5 + context.rank);
    CHECK_MPI(MPI_File_write_all(file, mine.data(), 9, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_sync(file));
    context.barrier();
    CHECK_MPI(view.set(file));
    std::vector<int> back(9);
    CHECK_MPI(MPI_File_read_all(file, back.data(), 9, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(back == mine);
    close_file(file);
}

// In the file a long has four bytes.
TEST(split_calls_move_the_pointer_by_etypes, under_unisono, wrong_lengths) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, MPI_Offset{40} * context.rank, MPI_LONG, MPI_LONG,
                                "external32", MPI_INFO_NULL));
    long const data[10] = {};
    CHECK_MPI(MPI_File_write_all_begin(file, data, 10, MPI_LONG));
    CHECK_MPI(MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 10);
    close_file(file);
}

}  // namespace

}  // namespace semantics
