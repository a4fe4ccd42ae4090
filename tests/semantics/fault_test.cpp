// Failing accesses, injected by the hint unisono_faults: all ranks get the same class of error, the
// message says what happened where, the counts are true, and the program can go on.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "files.hpp"

namespace semantics {
namespace {

struct Kind {
    char const* name;
    int number;
    int error_class;
};

Kind const kinds[] = {{"EIO", EIO, MPI_ERR_IO},
                      {"ENOSPC", ENOSPC, MPI_ERR_NO_SPACE},
                      {"EDQUOT", EDQUOT, MPI_ERR_QUOTA}};

MPI_File open_with_fault(Context const& context, std::string const& direction, MPI_Offset offset,
                         Kind const& kind) {
    return open_with(
        context, {{"unisono_faults", direction + "@" + std::to_string(offset) + "=" + kind.name}});
}

void check_message(int code, std::string const& call, MPI_Offset offset, Kind const& kind) {
    auto const text = error_text(code);
    for (auto const& part :
         {call, std::string("rank "), std::to_string(offset), std::string(strerror(kind.number))}) {
        if (text.find(part) == std::string::npos)
            record_failure(__FILE__, __LINE__, "the message \"" + text + "\" lacks " + part);
    }
}

// The whole request fits into one round, so everything below the fault was transferred. The rank
// whose byte it was stops there; the others may have got further, through other aggregators.
void check_count(DealtView const& view, long long count, long long asked, MPI_Offset fault) {
    auto const below = std::min<long long>(view.bytes_below(fault), asked);
    bool const mine = below < asked && view.offset(below) == fault;
    if (mine) {
        CHECK_EQUAL(count, below);
    } else {
        CHECK(count >= below);
        CHECK(count <= asked);
    }
}

// Every byte that the status claims is in the file.
void check_claims(Context const& context, DealtView const& view, long long count) {
    context.barrier();
    Bytes const whole = read_whole(context.path());
    for (long long i = 0; i < count; ++i) {
        auto const at = static_cast<std::size_t>(view.offset(i));
        if (!CHECK(at < whole.size() && whole[at] == pattern(view.offset(i)))) break;
    }
    context.barrier();
}

void try_write(Context const& context, int block, int asked, MPI_Offset fault, Kind const& kind) {
    DealtView const view(context, block);
    MPI_File file = open_with_fault(context, "write", fault, kind);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 2 * static_cast<std::size_t>(asked));
    MPI_Status status;
    int const code = MPI_File_write_at_all(file, 0, data.data(), asked, MPI_BYTE, &status);
    CHECK_EQUAL(error_class(code), kind.error_class);
    if (code != MPI_SUCCESS) check_message(code, "write", fault, kind);
    auto const count = count_of(status);
    check_count(view, count, asked, fault);
    check_claims(context, view, count);
    // Elsewhere the file still works.
    CHECK_MPI(MPI_File_write_at_all(file, asked, data.data() + asked, asked, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), asked);
    check_read_at_all(file, asked, view.data(asked, static_cast<std::size_t>(asked)),
                      "after the error");
    close_file(file);
}

TEST(failing_writes, under_unisono, faults_are_ours) {
    for (auto const& kind : kinds) {
        try_write(context, 64, 8192, 0, kind);
        try_write(context, 64, 8192, 1000, kind);
        try_write(context, 4096, 16384, 4096LL * context.size + 17, kind);
        try_write(context, 4096, 16384, 16384LL * context.size - 1, kind);
    }
}

void try_read(Context const& context, int block, int asked, MPI_Offset fault, Kind const& kind) {
    DealtView const view(context, block);
    prepare_file(context, context.path(), 2 * static_cast<std::size_t>(asked) * context.size);
    MPI_File file = open_with_fault(context, "read", fault, kind);
    CHECK_MPI(view.set(file));
    Bytes back(static_cast<std::size_t>(asked), 0);
    MPI_Status status;
    int const code = MPI_File_read_all(file, back.data(), asked, MPI_BYTE, &status);
    CHECK_EQUAL(error_class(code), kind.error_class);
    if (code != MPI_SUCCESS) check_message(code, "read", fault, kind);
    auto const count = count_of(status);
    check_count(view, count, asked, fault);
    Bytes const expected = view.data(0, back.size());
    CHECK(matching_prefix(back, expected) >= static_cast<std::size_t>(std::max(0LL, count)));
    CHECK_MPI(MPI_File_read_at_all(file, asked, back.data(), asked, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), asked);
    check_bytes(back, view.data(asked, back.size()), "after the error");
    close_file(file);
}

TEST(failing_reads, under_unisono, faults_are_ours) {
    for (auto const& kind : kinds) {
        try_read(context, 64, 8192, 0, kind);
        try_read(context, 64, 8192, 1000, kind);
        try_read(context, 4096, 16384, 4096LL * context.size + 17, kind);
        try_read(context, 4096, 16384, 16384LL * context.size - 1, kind);
    }
}

// Many rounds: where the others stopped is Unisono's affair, but every claim must be true, and the
// rank whose byte failed cannot claim it.
TEST(a_failing_write_of_many_rounds, under_unisono, faults_are_ours) {
    constexpr int asked = 1 << 20;
    DealtView const view(context, 1000);
    MPI_Offset const fault = 700LL * 1000 * context.size + 500;
    MPI_File file =
        open_with(context, {{"unisono_faults", "write@" + std::to_string(fault) + "=ENOSPC"},
                            {"cb_buffer_size", "65536"}});
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, asked);
    MPI_Status status;
    int const code = MPI_File_write_all(file, data.data(), asked, MPI_BYTE, &status);
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
    auto const count = count_of(status);
    auto const below = view.bytes_below(fault);
    if (view.offset(below) == fault) CHECK(count <= below);
    CHECK(count >= 0 && count <= asked);
    check_claims(context, view, count);
    close_file(file);
}

// Only the ranks that took part in the failing bytes asked for anything.
TEST(ranks_without_data_hear_of_the_error, under_unisono, faults_are_ours) {
    MPI_File file = open_with_fault(context, "write", 50, kinds[0]);
    Bytes const data = pattern_bytes(0, 100);
    bool const takes_part = context.rank == context.size - 1;
    MPI_Status status;
    int const code =
        MPI_File_write_at_all(file, 0, data.data(), takes_part ? 100 : 0, MPI_BYTE, &status);
    CHECK_EQUAL(error_class(code), MPI_ERR_IO);
    CHECK_EQUAL(count_of(status), takes_part ? 50 : 0);
    close_file(file);
}

TEST(a_fault_in_a_hole_is_never_met, under_unisono, faults_are_ours) {
    MPI_File file = open_with_fault(context, "write", 20, kinds[0]);
    Type const tile = make_resized(0, 24LL * context.size, make_contiguous(8, MPI_BYTE));
    CHECK_MPI(
        MPI_File_set_view(file, 24LL * context.rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    Bytes const data(8000, 5);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, data.data(), 8000, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 8000);
    close_file(file);
}

TEST(an_independent_access_fails_on_its_rank_only, under_unisono, faults_are_ours) {
    DealtView const view(context, 100);
    MPI_File file =
        open_with_fault(context, "write", view.block_bytes() * context.size + 30, kinds[1]);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 400);
    // A collective call below the fault first: the file is in Unisono's hands.
    CHECK_MPI(MPI_File_write_all(file, data.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Status status;
    int const code = MPI_File_write(file, data.data() + 100, 300, MPI_BYTE, &status);
    CHECK_EQUAL(error_class(code), context.rank == 0 ? MPI_ERR_NO_SPACE : MPI_SUCCESS);
    CHECK_EQUAL(count_of(status), context.rank == 0 ? 30 : 300);
    close_file(file);
}

// Two faults on different aggregators: still one class for everybody.
TEST(two_errors_give_one_class, under_unisono, faults_are_ours) {
    auto const second = 20000LL * context.size - 5;
    MPI_File file = open_with(
        context, {{"unisono_faults", "write@10=EIO,write@" + std::to_string(second) + "=ENOSPC"}});
    DealtView const view(context, 500);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 20000);
    MPI_Status status;
    int const code = MPI_File_write_all(file, data.data(), 20000, MPI_BYTE, &status);
    CHECK(code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(code)));
    if (context.rank == 0) CHECK_EQUAL(count_of(status), 10);
    check_claims(context, view, count_of(status));
    close_file(file);
}

constexpr int lone_bytes = 100;

MPI_File open_lone_file(Context const& context, char const* key, char const* value) {
    Info const hints{{"unisono_faults", "write@550=ENOSPC"}, {key, value}};
    auto const path = context.path() + std::to_string(context.rank);
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(
        MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file));
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    return file;
}

int write_record(MPI_File file, int number) {
    Bytes const data(lone_bytes, 7);
    return MPI_File_write_at_all(file, MPI_Offset{lone_bytes} * number, data.data(), lone_bytes,
                                 MPI_BYTE, MPI_STATUS_IGNORE);
}

// In small calls that repeat an error is its rank's at once, and at the next sync all ranks'. Of a
// lone rank's file it came twice.
TEST(a_lone_rank_is_told_once, under_unisono, faults_are_ours) {
    MPI_File file = open_lone_file(context, "unisono_strategy", "auto");
    for (int number = 0; number < 10; ++number)
        CHECK_EQUAL(error_class(write_record(file, number)),
                    number == 5 ? MPI_ERR_NO_SPACE : MPI_SUCCESS);
    CHECK_MPI(MPI_File_sync(file));
    close_file(file);
}

// The same, where others' parts might be in memory: it does its own part of the call by itself.
TEST(a_lone_rank_is_told_once_of_a_nonblocking_write, under_unisono, faults_are_ours) {
    MPI_File file = open_lone_file(context, "unisono_strategy", "view_based");
    for (int number = 0; number < 5; ++number) CHECK_MPI(write_record(file, number));
    Bytes const data(lone_bytes, 7);
    MPI_Request request = MPI_REQUEST_NULL;
    auto code =
        MPI_File_iwrite_at_all(file, 5 * lone_bytes, data.data(), lone_bytes, MPI_BYTE, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
    CHECK_MPI(MPI_File_sync(file));
    close_file(file);
}

// The same, where helper threads may not use what the file is accessed by: once, whether it waits
// for the call or lets it go.
TEST(a_lone_rank_is_told_once_of_what_helpers_cannot_do, under_unisono, faults_are_ours) {
    for (bool const waits : {true, false}) {
        MPI_File file = open_lone_file(context, "unisono_backend", "mpiio");
        Bytes const data(lone_bytes, 7);
        MPI_Request request = MPI_REQUEST_NULL;
        CHECK_MPI(MPI_File_iwrite_at_all(file, 5 * lone_bytes, data.data(), lone_bytes, MPI_BYTE,
                                         &request));
        if (waits)
            CHECK_EQUAL(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_NO_SPACE);
        else
            CHECK_MPI(MPI_Request_free(&request));
        CHECK_EQUAL(error_class(MPI_File_sync(file)), waits ? MPI_SUCCESS : MPI_ERR_NO_SPACE);
        CHECK_MPI(MPI_File_sync(file));
        close_file(file);
    }
}

}  // namespace

}  // namespace semantics
