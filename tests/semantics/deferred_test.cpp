// Collective writes that stay in memory (view_based): their errors come out at sync or close, on
// all ranks, with what was lost, and never twice.
#include <algorithm>
#include <cstdlib>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* only_unisono_defers = "only Unisono has this strategy";

constexpr int mine_bytes = 8000;
constexpr MPI_Offset fault = 1234;

// A variable overrides the hint.
bool strategy_is_free(Context const&) {
    auto const* const strategy = std::getenv("UNISONO_STRATEGY");
    auto const free = strategy == nullptr || std::string{strategy} == "view_based";
    if (!free) skip("UNISONO_STRATEGY is another one");
    return free;
}

// A fault that nobody meets is none.
constexpr char const* no_fault = "write@1000000000=EIO";

MPI_File open_deferred(Context const& context, char const* faults) {
    return open_with(context, {{"unisono_strategy", "view_based"},
                               {"unisono_flush", "close"},
                               {"unisono_faults", faults}});
}

void write_dealt(Context const& context, MPI_File file) {
    DealtView const view(context, 64);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, mine_bytes);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, data.data(), mine_bytes, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), mine_bytes);
    Bytes back(mine_bytes);
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), mine_bytes, MPI_BYTE, &status));
    check_bytes(back, data, "read from memory");
}

void check_error(Context const& context, int code, char const* call) {
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
    auto const text = error_text(code);
    auto const lost = static_cast<long long>(mine_bytes) * context.size - fault;
    for (auto const& part : {std::string{call}, "[1234, " + std::to_string(fault + lost) + ")",
                             std::to_string(lost) + " bytes"})
        if (text.find(part) == std::string::npos)
            record_failure(__FILE__, __LINE__, "the message \"" + text + "\" lacks " + part);
}

TEST(a_lost_write_comes_out_at_sync, under_unisono, only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    MPI_File file = open_deferred(context, "write@1234=ENOSPC");
    write_dealt(context, file);
    check_error(context, MPI_File_sync(file), "MPI_File_sync");
    CHECK_MPI(MPI_File_sync(file));
    CHECK_EQUAL(size_of(file), static_cast<long long>(mine_bytes) * context.size);
    close_file(file);
    if (context.root()) {
        auto whole = read_whole(context.path());
        CHECK_EQUAL(static_cast<long long>(whole.size()), 1LL * mine_bytes * context.size);
        whole.resize(fault);
        check_bytes(whole, pattern_bytes(0, fault), "before the fault");
    }
    context.barrier();
}

TEST(a_lost_write_comes_out_at_close, under_unisono, only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    MPI_File file = open_deferred(context, "write@1234=ENOSPC");
    write_dealt(context, file);
    check_error(context, MPI_File_close(&file), "MPI_File_close");
    CHECK(file == MPI_FILE_NULL);
}

// What is in memory and what native calls do stay in order.
TEST(a_new_size_takes_effect_after_earlier_writes, under_unisono, only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    MPI_File file = open_deferred(context, no_fault);
    write_dealt(context, file);
    CHECK_MPI(MPI_File_set_size(file, 3000));
    CHECK_EQUAL(size_of(file), 3000);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    Bytes back(4000, 9);
    MPI_Status status;
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 4000, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 3000);
    back.resize(3000);
    check_bytes(back, pattern_bytes(0, 3000), "after the cut");
    close_file(file);
    check_file(context, context.path(), 3000);
}

// New hints may come with other ranks that keep the data.
TEST(new_hints_lose_nothing_that_is_in_memory, under_unisono, only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    MPI_File file = open_deferred(context, no_fault);
    write_dealt(context, file);
    Info const hints{{"cb_buffer_size", "65536"}, {"cb_nodes", "1"}};
    CHECK_MPI(MPI_File_set_info(file, hints));
    close_file(file);
    check_file(context, context.path(), static_cast<long long>(mine_bytes) * context.size);
}

/// Writes that repeat: nobody waits, and full blocks are written behind the program.
class Records {
public:
    static constexpr int bytes = 1000;
    static constexpr int block_bytes = 16384;

    Records(Context const& context, std::string const& faults) : context_{context} {
        Info const hints{{"unisono_strategy", "view_based"},
                         {"cb_buffer_size", std::to_string(block_bytes)},
                         {"unisono_faults", faults}};
        file = open_file(context, context.path(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    }

    void write(int calls) {
        for (; calls > 0; --calls, ++written_) {
            MPI_Offset const at = (1LL * written_ * context_.size + context_.rank) * bytes;
            Bytes const data = pattern_bytes(static_cast<std::size_t>(at), bytes);
            MPI_Status status;
            CHECK_MPI(MPI_File_write_at_all(file, at, data.data(), bytes, MPI_BYTE, &status));
            CHECK_EQUAL(count_of(status), bytes);
        }
    }
    [[nodiscard]] long long end() const { return 1LL * written_ * context_.size * bytes; }

    MPI_File file = MPI_FILE_NULL;

private:
    Context const& context_;
    int written_ = 0;
};

// As the message says, a block from the fault on at most.
void check_lost(Context const& context, int code, char const* call, MPI_Offset at) {
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
    auto const text = error_text(code);
    auto const range = "[" + std::to_string(at) + ", ";
    auto const found = text.find(range);
    if (text.find(call) == std::string::npos || found == std::string::npos)
        return record_failure(__FILE__, __LINE__, "the message is \"" + text + "\"");
    auto const lost_end = std::stoll(text.substr(found + range.size()));
    CHECK(lost_end > at);
    CHECK(lost_end <= (at / Records::block_bytes + 1) * Records::block_bytes);
    context.barrier();
    if (!context.root()) return;
    auto const whole = read_whole(context.path());
    for (auto offset = 0LL; offset < static_cast<long long>(whole.size()); ++offset)
        if (offset < at || offset >= lost_end)
            if (!CHECK(whole[static_cast<std::size_t>(offset)] == pattern(offset))) return;
}

// Nobody knows when its own call returns; then all do, and the program goes on.
TEST(a_disk_found_full_behind_repeated_writes_is_told_at_the_next_sync, under_unisono,
     only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    auto const at = 50LL * context.size * Records::bytes + 5;  // no call's last byte
    Records records(context, "write@" + std::to_string(at) + "=ENOSPC");
    records.write(300);
    check_lost(context, MPI_File_sync(records.file), "MPI_File_sync", at);
    CHECK_EQUAL(size_of(records.file), records.end());
    context.barrier();
    records.write(100);
    CHECK_MPI(MPI_File_sync(records.file));
    CHECK_EQUAL(size_of(records.file), records.end());
    close_file(records.file);
}

TEST(a_disk_found_full_behind_repeated_writes_is_told_at_close, under_unisono,
     only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    auto const at = 50LL * context.size * Records::bytes + 5;
    Records records(context, "write@" + std::to_string(at) + "=ENOSPC");
    records.write(300);
    check_lost(context, MPI_File_close(&records.file), "MPI_File_close", at);
    CHECK(records.file == MPI_FILE_NULL);
    context.barrier();
}

int read_record(MPI_File file, MPI_Offset number, Bytes& record) {
    MPI_Status status;
    CHECK_MPI(MPI_File_read_at_all(file, number * Records::bytes, record.data(), Records::bytes,
                                   MPI_BYTE, &status));
    return static_cast<int>(count_of(status));
}

// Calls 0, 1, ... of a rank, each with a record of its own.
void check_records(Context const& context, MPI_File file, int first, int last) {
    for (int call = first; call < last; ++call) {
        Bytes record(Records::bytes);
        auto const number = 1LL * call * context.size + context.rank;
        CHECK_EQUAL(read_record(file, number, record), Records::bytes);
        check_bytes(record, pattern_bytes(number * Records::bytes, Records::bytes), "a record");
    }
}

// Reads that repeat are copies from blocks that were read ahead, or each rank's own: of that nobody
// may notice anything.
void repeat_reads(Context const& context, char const* strategy) {
    constexpr int calls = 60;
    MPI_File file = open_with(context, {{"unisono_read_ahead", "enable"},
                                        {"cb_buffer_size", "16384"},
                                        {"unisono_strategy", strategy}});
    Bytes const all = pattern_bytes(0, static_cast<std::size_t>(calls) * context.size * 1000);
    if (context.root())
        CHECK_MPI(MPI_File_write_at(file, 0, all.data(), static_cast<int>(all.size()), MPI_BYTE,
                                    MPI_STATUS_IGNORE));
    sync_on_all(context, file);
    check_records(context, file, 0, 10);
    // What this rank has just written.
    auto const own = 10LL * context.size + context.rank;
    Bytes const mine(Records::bytes, static_cast<std::uint8_t>(200 + context.rank));
    CHECK_MPI(MPI_File_write_at(file, own * Records::bytes, mine.data(), Records::bytes, MPI_BYTE,
                                MPI_STATUS_IGNORE));
    Bytes record(Records::bytes);
    read_record(file, own, record);
    check_bytes(record, mine, "this rank's own");
    // What the next rank has synced.
    sync_on_all(context, file);
    auto const next = (context.rank + 1) % context.size;
    read_record(file, 10LL * context.size + next, record);
    check_bytes(record, Bytes(Records::bytes, static_cast<std::uint8_t>(200 + next)), "the next's");
    // A file that has become shorter.
    check_records(context, file, 11, 20);
    CHECK_MPI(MPI_File_set_size(file, 20LL * context.size * Records::bytes + 300));
    for (int call = 20; call < 30; ++call)
        CHECK_EQUAL(read_record(file, 1LL * call * context.size + context.rank, record),
                    call == 20 && context.root() ? 300 : 0);
    close_file(file);
}

TEST(repeated_reads_see_what_others_do, under_unisono, only_unisono_defers) {
    for (char const* const strategy : {"view_based", "auto"}) repeat_reads(context, strategy);
}

// All the end that a file without a close has, where there are only sessions.
TEST(what_is_in_memory_is_written_before_its_communicator_goes, under_unisono,
     only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    Context own = context;
    MPI_Comm_dup(context.comm, &own.comm);
    MPI_File file = open_deferred(own, no_fault);
    write_dealt(own, file);
    MPI_Comm_free(&own.comm);
    check_file(context, context.path(), static_cast<long long>(mine_bytes) * context.size);
    close_file(file);
}

TEST(a_write_lost_before_its_communicator_goes_is_told_at_sync, under_unisono,
     only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    Context own = context;
    MPI_Comm_dup(context.comm, &own.comm);
    MPI_File file = open_deferred(own, "write@1234=ENOSPC");
    write_dealt(own, file);
    MPI_Comm_free(&own.comm);
    check_error(context, MPI_File_sync(file), "MPI_File_sync");
    close_file(file);
}

// Handles are used again.
TEST(a_communicator_goes_that_has_the_handle_of_an_earlier_one, under_unisono,
     only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    Context own = context;
    MPI_Comm_dup(context.comm, &own.comm);
    MPI_File file = open_deferred(own, no_fault);
    MPI_Comm_free(&own.comm);
    write_dealt(context, file);
    MPI_Comm one = MPI_COMM_NULL;
    MPI_Comm_split(context.comm, context.root() ? 0 : MPI_UNDEFINED, 0, &one);
    if (context.root()) {
        MPI_File other = MPI_FILE_NULL;
        CHECK_MPI(MPI_File_open(one, context.path("other").c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                                MPI_INFO_NULL, &other));
        close_file(other);
        MPI_Comm_free(&one);
    }
    context.barrier();
    close_file(file);
    check_file(context, context.path(), static_cast<long long>(mine_bytes) * context.size);
}

MPI_File open_once_more(MPI_Comm comm, Context const& context) {
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(MPI_File_open(comm, context.path().c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    return file;
}

// PnetCDF writes on through a handle of its own on each rank, without a sync: what the first handle
// has in memory must not come out on top.
TEST(what_another_handle_writes_is_not_undone, under_unisono, only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    constexpr auto bytes = std::size_t{Records::bytes};
    Records records(context, no_fault);
    records.write(100);
    context.barrier();
    MPI_File alone = open_once_more(MPI_COMM_SELF, context);
    MPI_Offset const own = (97LL * context.size + context.rank) * Records::bytes;
    check_read_at(alone, own, pattern_bytes(own, bytes), "this rank's own");
    // Between nodes a rank knows of its own writes only.
    auto const whose = (context.rank + (on_one_node(context) ? 1 : 0)) % context.size;
    MPI_Offset const at = (98LL * context.size + whose) * Records::bytes;
    Bytes const newer(bytes, 9);
    CHECK_MPI(
        MPI_File_write_at(alone, at, newer.data(), Records::bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    context.barrier();
    records.write(10);
    CHECK_MPI(MPI_File_close(&alone));
    close_file(records.file);
    auto expected = pattern_bytes(0, static_cast<std::size_t>(records.end()));
    auto const row = bytes * static_cast<std::size_t>(context.size);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(98 * row), row, std::uint8_t{9});
    check_file(context, context.path(), expected);
}

// The same by a call that would be done beside the program.
TEST(what_another_handle_writes_beside_the_program_is_not_undone, under_unisono,
     only_unisono_defers) {
    if (!strategy_is_free(context) || !on_one_node(context)) return;
    constexpr int bytes = 300'000;
    Records records(context, no_fault);
    records.write(bytes / Records::bytes / context.size + 1);
    context.barrier();
    MPI_File alone = open_once_more(MPI_COMM_SELF, context);
    Bytes const newer(bytes, 9);
    MPI_Request request = MPI_REQUEST_NULL;
    if (context.root())
        CHECK_MPI(MPI_File_iwrite_at(alone, 0, newer.data(), bytes, MPI_BYTE, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.barrier();
    CHECK_MPI(MPI_File_close(&alone));
    close_file(records.file);
    context.barrier();
    if (!context.root()) return;
    auto whole = read_whole(context.path());
    whole.resize(bytes);
    check_bytes(whole, newer, "what was written last");
}

// A handle began to keep blocks while another's write was on its way, and had what this replaced
// until a sync.
TEST(what_another_handle_writes_meanwhile_is_read, under_unisono, only_unisono_defers) {
    if (!strategy_is_free(context) || !on_one_node(context)) return;
    constexpr int bytes = 300'000;  // enough to be written beside the program
    MPI_File file = open_deferred(context, no_fault);
    Bytes seen(bytes, 1);
    CHECK_MPI(MPI_File_write_at_all(file, 0, seen.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    sync_on_all(context, file);
    MPI_File alone = MPI_FILE_NULL;
    Info const slow{{"unisono_faults", "write=delay:300000"}};
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, context.path().c_str(), MPI_MODE_RDWR, slow, &alone));
    Bytes const newer(bytes, 9);
    MPI_Request request = MPI_REQUEST_NULL;
    if (context.root())
        CHECK_MPI(MPI_File_iwrite_at(alone, 0, newer.data(), bytes, MPI_BYTE, &request));
    CHECK_MPI(MPI_File_read_at_all(file, 0, seen.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.barrier();
    check_read_at_all(file, 0, newer, "what was written meanwhile");
    CHECK_MPI(MPI_File_close(&alone));
    close_file(file);
}

// What the first handle has in memory is no reason to keep what only the other one accesses.
TEST(calls_of_another_handle_keep_their_order, under_unisono, only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    Records records(context, no_fault);
    records.write(20);
    context.barrier();
    MPI_File other = open_once_more(context.comm, context);
    MPI_Offset const at = records.end() + 100LL * context.rank;  // in a block, but in no record
    Bytes const first(100, 1), second(100, 2);
    CHECK_MPI(MPI_File_write_at(other, at, first.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE));
    sync_on_all(context, other);
    auto const next = records.end() + 100LL * ((context.rank + 1) % context.size);
    CHECK_MPI(MPI_File_write_at_all(other, next, second.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE));
    sync_on_all(context, other);
    check_read_at(other, at, second, "what was written last, read");
    close_file(records.file);
    close_file(other);
    auto expected = pattern_bytes(0, static_cast<std::size_t>(records.end()));
    expected.resize(expected.size() + 100 * static_cast<std::size_t>(context.size), 2);
    check_file(context, context.path(), expected);
}

// The MPI library would not see what is in memory; where Unisono has the pointer, it does.
TEST(shared_pointer_calls_go_past_nothing_that_is_in_memory, under_unisono, only_unisono_defers) {
    if (!strategy_is_free(context)) return;
    MPI_File file = open_deferred(context, no_fault);
    write_dealt(context, file);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    Bytes const newer(10, 9);
    int code = MPI_SUCCESS;
    if (context.root()) {
        code = MPI_File_write_shared(file, newer.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE);
        CHECK(code == MPI_SUCCESS || error_class(code) == MPI_ERR_UNSUPPORTED_OPERATION);
    }
    sync_on_all(context, file);
    if (context.root() && code != MPI_SUCCESS)
        CHECK_MPI(MPI_File_write_shared(file, newer.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE));
    Bytes back(10);
    if (context.root()) {
        CHECK_MPI(MPI_File_read_at(file, 0, back.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(back == newer);
    }
    close_file(file);
}

}  // namespace

}  // namespace semantics
