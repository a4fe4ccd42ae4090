// Requests of nonblocking collective calls: several under way, on several files, completed in every
// way that MPI has, with errors, freed before they are complete, and ranks that come late.
#include <unistd.h>

#include <cstdlib>

#include "files.hpp"

// Intel MPI's standard ABI has the header's version, and may lack them.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define SEMANTICS_REQUESTS_OF_MPI_4_1
#endif

namespace semantics {
namespace {

constexpr char const* undone_or_hung =
    "ROMIO's writes that are under way together undo each other, or hang";

constexpr int bytes = 60000;

struct Pending {
    explicit Pending(Context const& context, std::string const& name, int of_calls = 1)
        : view(context, 40),
          calls(of_calls),
          file(open_file(context, context.path(name))),
          data(view.data(0, std::size_t{bytes} * static_cast<std::size_t>(calls))),
          requests(static_cast<std::size_t>(calls), MPI_REQUEST_NULL) {
        CHECK_MPI(view.set(file));
    }
    void begin(int call) {
        CHECK_MPI(MPI_File_iwrite_at_all(
            file, MPI_Offset{bytes} * call,
            data.data() + std::size_t{bytes} * static_cast<std::size_t>(call), bytes, MPI_BYTE,
            &requests[static_cast<std::size_t>(call)]));
    }
    void begin_all() {
        for (int call = 0; call < calls; ++call) begin(call);
    }
    void check_and_close() {
        check_read_at_all(file, 0, data, "what was written");
        close_file(file);
    }

    DealtView view;
    int calls;
    MPI_File file;
    Bytes data;
    std::vector<MPI_Request> requests;
};

TEST(waited_for_one_by_one_from_the_last, all_but_native_mpich, undone_or_hung) {
    Pending pending(context, "data", 4);
    pending.begin_all();
    for (auto request = pending.requests.rbegin(); request != pending.requests.rend(); ++request) {
        MPI_Status status;
        CHECK_MPI(MPI_Wait(&*request, &status));
        CHECK_EQUAL(count_of(status, MPI_BYTE), bytes);
        CHECK(*request == MPI_REQUEST_NULL);
    }
    pending.check_and_close();
}

TEST(null_pointers_beside_them_ended_programs, all_but_native_mpich, undone_or_hung) {
    Pending pending(context, "data");
    pending.begin_all();
    auto* const request = pending.requests.data();
    [[maybe_unused]] int index = 0;
    int done = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_FAILS(MPI_Wait(nullptr, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_Test(nullptr, &done, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_Request_free(nullptr));
#ifndef MPI_ABI_VERSION  // MPICH 5.0.2 itself crashes there
    CHECK_FAILS(MPI_Waitall(1, nullptr, MPI_STATUSES_IGNORE));
    CHECK_FAILS(MPI_Testany(1, nullptr, &index, &done, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_Waitsome(1, request, nullptr, &index, MPI_STATUSES_IGNORE));
    CHECK_FAILS(MPI_Testsome(1, request, nullptr, &index, MPI_STATUSES_IGNORE));
#endif
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    pending.check_and_close();
}

// Between nodes the MPI library does these calls, but for those before the first view after one.
TEST(a_larger_buffer_size_after_the_open_overran_mpichs, under_unisono,
     "MPICH 4.0.2 crashes; Open MPI does not know the hint") {
    constexpr int many_bytes = 10'000;
    Info const small{{"romio_cb_read", "enable"}, {"cb_buffer_size", "64"}};
    Info const large{{"cb_buffer_size", "1048576"}};
    for (auto const with_view : {false, true}) {
        MPI_File file = open_file(context, context.path(), MPI_MODE_CREATE | MPI_MODE_RDWR, small);
        auto const own = context.rank * many_bytes;
        std::vector<char> const data(many_bytes, char('a' + context.rank));
        CHECK_MPI(
            MPI_File_write_at_all(file, own, data.data(), many_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_File_sync(file));
        std::vector<char> back(many_bytes);
        auto const read = [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            CHECK_MPI(
                MPI_File_iread_at_all(file, own, back.data(), many_bytes, MPI_BYTE, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        };
        read();
        CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native",
                                    with_view ? large : MPI_INFO_NULL));
        if (!with_view) CHECK_MPI(MPI_File_set_info(file, large));
        for (int i = 0; i < 5; ++i) read();
        CHECK(back == data);
        CHECK_EQUAL(info_value(file, "cb_buffer_size"), "1048576");
        close_file(file);
    }
}

TEST(waited_for_in_any_order, all_but_native_mpich, undone_or_hung) {
    Pending pending(context, "data", 4);
    pending.begin_all();
    for (int left = 4; left > 0; --left) {
        int index = -1;
        MPI_Status status;
        CHECK_MPI(MPI_Waitany(4, pending.requests.data(), &index, &status));
        CHECK(index >= 0 && index < 4);
        CHECK_EQUAL(count_of(status, MPI_BYTE), bytes);
    }
    int index = 0;
    CHECK_MPI(MPI_Waitany(4, pending.requests.data(), &index, MPI_STATUS_IGNORE));
    CHECK_EQUAL(index, MPI_UNDEFINED);
    pending.check_and_close();
}

TEST(waited_for_some_at_a_time, all_but_native_mpich, undone_or_hung) {
    Pending pending(context, "data", 4);
    pending.begin_all();
    for (int left = 4; left > 0;) {
        int done = 0;
        int indices[4];
        MPI_Status statuses[4];
        CHECK_MPI(MPI_Waitsome(4, pending.requests.data(), &done, indices, statuses));
        if (!CHECK(done >= 1 && done <= left)) break;
        for (int i = 0; i < done; ++i) CHECK_EQUAL(count_of(statuses[i], MPI_BYTE), bytes);
        left -= done;
    }
    pending.check_and_close();
}

TEST(tested_until_they_are_complete, all_but_native_mpich, undone_or_hung) {
    Pending pending(context, "data", 4);
    pending.begin_all();
    int done = 0;
    while (done == 0) CHECK_MPI(MPI_Test(&pending.requests[2], &done, MPI_STATUS_IGNORE));
    done = 0;
    while (done == 0)
        CHECK_MPI(MPI_Request_get_status(pending.requests[0], &done, MPI_STATUS_IGNORE));
    CHECK(pending.requests[0] != MPI_REQUEST_NULL);
    int index = -1;
    done = 0;
    while (done == 0)
        CHECK_MPI(MPI_Testany(2, pending.requests.data(), &index, &done, MPI_STATUS_IGNORE));
    int indices[4];
    int some = 0;
    while (some == 0)
        CHECK_MPI(MPI_Testsome(2, pending.requests.data(), &some, indices, MPI_STATUSES_IGNORE));
    done = 0;
    while (done == 0)
        CHECK_MPI(MPI_Testall(4, pending.requests.data(), &done, MPI_STATUSES_IGNORE));
    pending.check_and_close();
}

#ifdef SEMANTICS_REQUESTS_OF_MPI_4_1
// The requests stay; nothing else moves the calls on.
TEST(asked_about_several_at_once, all_but_native_mpich, undone_or_hung) {
    Pending pending(context, "data", 4);
    pending.begin_all();
    auto* const requests = pending.requests.data();  // MPICH 4.2 takes no constant ones
    int done = 0, index = -1, some = 0;
    int indices[4];
    MPI_Status statuses[4];
    while (done == 0) CHECK_MPI(MPI_Request_get_status_any(4, requests, &index, &done, statuses));
    CHECK(index >= 0 && index < 4);
    CHECK_EQUAL(count_of(statuses[0], MPI_BYTE), bytes);
    while (some < 4) CHECK_MPI(MPI_Request_get_status_some(4, requests, &some, indices, statuses));
    done = 0;
    while (done == 0) CHECK_MPI(MPI_Request_get_status_all(4, requests, &done, statuses));
    for (int i = 0; i < 4; ++i) {
        CHECK(requests[i] != MPI_REQUEST_NULL);
        CHECK_EQUAL(count_of(statuses[i], MPI_BYTE), bytes);
    }
    CHECK_MPI(MPI_Waitall(4, pending.requests.data(), MPI_STATUSES_IGNORE));
    pending.check_and_close();
}
#endif

// Between them go messages: calls on requests of both kinds at once.
TEST(waited_for_together_with_messages, all_but_native_mpich, undone_or_hung) {
    Pending pending(context, "data", 2);
    pending.begin_all();
    int const next = (context.rank + 1) % context.size;
    int const last = (context.rank + context.size - 1) % context.size;
    int sent = context.rank, got = -1;
    MPI_Request all[4] = {pending.requests[0], MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                          pending.requests[1]};
    CHECK_MPI(MPI_Irecv(&got, 1, MPI_INT, last, 3, context.comm, &all[1]));
    CHECK_MPI(MPI_Isend(&sent, 1, MPI_INT, next, 3, context.comm, &all[2]));
    CHECK_MPI(MPI_Waitall(4, all, MPI_STATUSES_IGNORE));
    CHECK_EQUAL(got, last);
    pending.check_and_close();
}

// Nothing says in which order ranks begin calls on different files.
TEST(begun_in_different_orders_on_two_files) {
    Pending first(context, "first"), second(context, "second");
    auto const swapped = context.rank % 2 == 1;
    (swapped ? second : first).begin_all();
    (swapped ? first : second).begin_all();
    MPI_Request both[2] = {first.requests[0], second.requests[0]};
    CHECK_MPI(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    first.check_and_close();
    second.check_and_close();
}

// To begin one waits for nobody: the last rank begins when the others have told it that they have.
TEST(begun_by_ranks_that_wait_for_each_other) {
    Pending pending(context, "data");
    for (int rank = 0; rank < context.size; ++rank) {
        if (rank == context.rank) pending.begin_all();
        context.barrier();
    }
    CHECK_MPI(MPI_Waitall(1, pending.requests.data(), MPI_STATUSES_IGNORE));
    pending.check_and_close();
}

// What is in blocks had to be in the file first, and to write it all ranks met.
TEST(begun_while_data_are_in_blocks) {
    Pending pending(context, "data", 3);
    for (int call = 0; call < 2; ++call)
        CHECK_MPI(
            MPI_File_write_at_all(pending.file, MPI_Offset{bytes} * call,
                                  pending.data.data() + std::size_t{bytes} * std::size_t(call),
                                  bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int rank = 0; rank < context.size; ++rank) {
        if (rank == context.rank) pending.begin(2);
        context.barrier();
    }
    CHECK_MPI(MPI_Waitall(3, pending.requests.data(), MPI_STATUSES_IGNORE));
    pending.check_and_close();
}

// A blocking collective call between them comes in its turn, an independent one whenever it likes.
TEST(mixed_with_blocking_calls, all_but_native_mpich, undone_or_hung) {
    Pending pending(context, "data", 3);
    pending.begin(0);
    CHECK_MPI(MPI_File_write_at_all(pending.file, bytes, pending.data.data() + bytes, bytes,
                                    MPI_BYTE, MPI_STATUS_IGNORE));
    if (context.rank == 0)
        CHECK_MPI(MPI_File_write_at(pending.file, 2 * bytes, pending.data.data() + 2 * bytes, bytes,
                                    MPI_BYTE, MPI_STATUS_IGNORE));
    pending.begin(2);
    CHECK_MPI(MPI_Waitall(3, pending.requests.data(), MPI_STATUSES_IGNORE));
    pending.check_and_close();
}

// The others' calls need this rank's part, and it waits for a message that comes after them.
TEST(goes_on_while_a_rank_waits_for_a_message, all_but_native_mpich,
     "ROMIO goes on in waits for its own requests only, and hangs") {
    Pending pending(context, "data", 2);
    int const last = context.size - 1;
    int word = context.rank == 0 ? 4711 : 0;
    pending.begin_all();
    if (context.rank == last && last > 0) {
        MPI_Status status;
        CHECK_MPI(MPI_Probe(0, 5, context.comm, &status));
        CHECK_MPI(MPI_Recv(&word, 1, MPI_INT, 0, 5, context.comm, &status));
        CHECK_EQUAL(count_of(status, MPI_INT), 1);
        CHECK_EQUAL(word, 4711);
    }
    CHECK_MPI(MPI_Waitall(2, pending.requests.data(), MPI_STATUSES_IGNORE));
    if (context.rank == 0 && last > 0)
        CHECK_MPI(MPI_Send(&word, 1, MPI_INT, last, 5, context.comm));
    pending.check_and_close();
}

TEST(goes_on_while_a_rank_waits_for_its_receiver, all_but_native_mpich,
     "ROMIO goes on in waits for its own requests only, and hangs") {
    Pending pending(context, "data", 2);
    int const last = context.size - 1;
    std::vector<int> words(1 << 16, context.rank);
    auto const count = static_cast<int>(words.size());
    pending.begin_all();
    if (context.rank == last && last > 0) {
        CHECK_MPI(MPI_Ssend(words.data(), 1, MPI_INT, 0, 6, context.comm));
        CHECK_MPI(MPI_Send(words.data(), count, MPI_INT, 0, 7, context.comm));
    }
    CHECK_MPI(MPI_Waitall(2, pending.requests.data(), MPI_STATUSES_IGNORE));
    if (context.rank == 0 && last > 0) {
        CHECK_MPI(MPI_Recv(words.data(), 1, MPI_INT, last, 6, context.comm, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Recv(words.data(), count, MPI_INT, last, 7, context.comm, MPI_STATUS_IGNORE));
        CHECK_EQUAL(words.back(), last);
    }
    pending.check_and_close();
}

TEST(freed_before_they_are_complete, under_unisono,
     "ROMIO never does the access, OMPIO perhaps after the close") {
    Pending pending(context, "data", 2);
    pending.begin_all();
    CHECK_MPI(MPI_Request_free(&pending.requests[0]));
    CHECK(pending.requests[0] == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Wait(&pending.requests[1], MPI_STATUS_IGNORE));
    pending.check_and_close();
}

// Of the first rank, long enough to be done beside the program; also one that is over by then.
MPI_File free_writes_that_fail(Context const& context) {
    constexpr int long_bytes = 300000;
    MPI_File file = open_with(context, {{"unisono_faults", "write@100=ENOSPC"}});
    if (!context.root()) return file;
    Bytes const data(long_bytes, 1);
    for (bool const over : {false, true}) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        for (int i = 0; i < 2; ++i)
            CHECK_MPI(MPI_File_iwrite_at(file, MPI_Offset{i} * long_bytes, data.data(), long_bytes,
                                         MPI_BYTE, &requests[i]));
        if (!over) CHECK_MPI(MPI_Request_free(&requests[0]));
        CHECK_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        if (over) CHECK_MPI(MPI_Request_free(&requests[0]));
        CHECK(requests[0] == MPI_REQUEST_NULL);
    }
    return file;
}

// Nobody was told of it.
TEST(what_a_freed_write_lost_comes_out_at_the_next_sync, under_unisono, faults_are_ours) {
    MPI_File file = free_writes_that_fail(context);
    int const code = MPI_File_sync(file);
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
    CHECK(error_text(code).find("bytes written earlier to [100, 300000) are lost") !=
          std::string::npos);
    CHECK_MPI(MPI_File_sync(file));
    close_file(file);
}

TEST(what_a_freed_write_lost_comes_out_at_the_close, under_unisono, faults_are_ours) {
    MPI_File file = free_writes_that_fail(context);
    CHECK_EQUAL(error_class(MPI_File_close(&file)), MPI_ERR_NO_SPACE);
}

// The program may free a type as soon as the call has begun.
void with_a_type_freed_meanwhile(Context const& context, MPI_Datatype pairs) {
    Pending pending(context, "data");
    CHECK_MPI(MPI_Type_commit(&pairs));
    CHECK_MPI(MPI_File_iwrite_at_all(pending.file, 0, pending.data.data(), bytes / 2, pairs,
                                     pending.requests.data()));
    CHECK_MPI(MPI_Type_free(&pairs));
    MPI_Status status;
    CHECK_MPI(MPI_Wait(pending.requests.data(), &status));
    CHECK_EQUAL(count_of(status, MPI_BYTE), bytes);
    pending.check_and_close();
}

TEST(types_freed_meanwhile, all_but_native_mpich, "ROMIO loses the count") {
    MPI_Datatype pairs = MPI_DATATYPE_NULL;
    CHECK_MPI(MPI_Type_contiguous(2, MPI_BYTE, &pairs));
    with_a_type_freed_meanwhile(context, pairs);
}

#if MPI_VERSION >= 4
TEST(types_of_large_count_constructors, all_but_native_mpich, undone_or_hung) {
    MPI_Datatype pairs = MPI_DATATYPE_NULL;
    CHECK_MPI(MPI_Type_contiguous_c(2, MPI_BYTE, &pairs));
    with_a_type_freed_meanwhile(context, pairs);
}
#endif

// Views that the MPI library is told of by all ranks at once, and a backend that is the library's.
TEST(tested_by_one_rank_before_the_others_come, under_unisono, "the backend is Unisono's") {
    MPI_File file = open_with(context, {{"unisono_backend", "mpiio"}});
    Type const rows = costly_rows(1000, 2, 6);
    Type const view = make_resized(0, MPI_Aint{6000} * context.size, rows);
    CHECK_MPI(MPI_File_set_view(file, MPI_Offset{6000} * context.rank, MPI_BYTE, view, "native",
                                MPI_INFO_NULL));
    Bytes const data(2000, static_cast<unsigned char>(context.rank + 1));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite_all(file, data.data(), 2000, MPI_BYTE, &request));
    usleep(300000);
    int done = 0;
    MPI_Status status;
    if (context.root()) CHECK_MPI(MPI_Test(&request, &done, &status));
    context.barrier();
    if (done == 0) CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_EQUAL(count_of(status, MPI_BYTE), 2000);
    check_read_at_all(file, 0, data, "what was written");
    close_file(file);
}

// MPI: the pointer is updated by the call that starts the access.
TEST(short_reads_move_the_pointer_by_what_was_asked, all_but_native_openmpi,
     "Open MPI 4.1.4 waits for ever for nonblocking reads that end early") {
    DealtView const view(context, 10);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 30);
    CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), 30, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_sync(file));
    context.barrier();
    Bytes back(40);
    MPI_Request request = MPI_REQUEST_NULL;
    for (auto* const read : {MPI_File_iread, MPI_File_iread_all}) {
        CHECK_MPI(MPI_File_seek(file, 10, MPI_SEEK_SET));
        CHECK_MPI(read(file, back.data(), 40, MPI_BYTE, &request));
        CHECK_EQUAL(position_of(file), 50);
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQUAL(position_of(file), 50);
    }
    close_file(file);
}

// Each rank writes its part by itself, as helper threads may not use the MPI library's backend.
MPI_File write_parts_that_fail_on_the_first_rank(Context const& context) {
    MPI_File file =
        open_with(context, {{"unisono_backend", "mpiio"}, {"unisono_faults", "write@100=EIO"}});
    Bytes const data(1000, 1);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(
        MPI_File_iwrite_at_all(file, context.rank * 1000, data.data(), 1000, MPI_BYTE, &request));
    CHECK_EQUAL(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)),
                context.root() ? MPI_ERR_IO : MPI_SUCCESS);
    return file;
}

TEST(ranks_hear_of_other_ranks_parts_at_the_next_sync, under_unisono, faults_are_ours) {
    if (context.size == 1) return skip("there are no others");
    MPI_File file = write_parts_that_fail_on_the_first_rank(context);
    int const code = MPI_File_sync(file);
    CHECK_EQUAL(error_class(code), MPI_ERR_IO);
    CHECK(error_text(code).find("900 bytes written earlier") != std::string::npos);
    CHECK_MPI(MPI_File_sync(file));
    close_file(file);
}

TEST(ranks_hear_of_other_ranks_parts_at_the_close, under_unisono, faults_are_ours) {
    if (context.size == 1) return skip("there are no others");
    MPI_File file = write_parts_that_fail_on_the_first_rank(context);
    CHECK_EQUAL(error_class(MPI_File_close(&file)), MPI_ERR_IO);
}

TEST(reads_past_the_end_are_short, under_unisono, "ROMIO counts what was asked for, OMPIO hangs") {
    Pending pending(context, "data");
    pending.begin_all();
    CHECK_MPI(MPI_Waitall(1, pending.requests.data(), MPI_STATUSES_IGNORE));
    Bytes back(2 * bytes);
    MPI_Status status;
    CHECK_MPI(MPI_File_iread_at_all(pending.file, 0, back.data(), 2 * bytes, MPI_BYTE,
                                    pending.requests.data()));
    CHECK_MPI(MPI_Wait(pending.requests.data(), &status));
    CHECK_EQUAL(count_of(status, MPI_BYTE), bytes);
    back.resize(bytes);
    check_bytes(back, pending.data, "what was there");
    close_file(pending.file);
}

MPI_File open_faulty(Context const& context, std::string const& name) {
    Info const hints{{"unisono_faults", "write@100=ENOSPC"}};
    MPI_File file = open_file(context, context.path(name), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    return file;
}

// Between nodes, where only the program's own thread may call MPI, and the MPI library has not been
// told of the view.
bool each_rank_does_its_part(Context const& context) {
    return !on_one_node(context) && std::getenv("UNISONO_OVERLAP") == nullptr &&
           context.thread_level < MPI_THREAD_MULTIPLE;
}

// What is large goes on beside the program.
TEST(ranks_hear_of_parts_that_others_do_alone, under_unisono, faults_are_ours) {
    if (!each_rank_does_its_part(context)) return skip("ranks do it together");
    for (int const bytes : {1000, 300'000}) {
        MPI_File file = open_faulty(context, "faulty");
        CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        Bytes const data(static_cast<std::size_t>(bytes), 1);
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_File_iwrite_at_all(file, MPI_Offset{context.rank} * bytes, data.data(),
                                          bytes, MPI_BYTE, &request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_EQUAL(error_class(code), context.root() ? MPI_ERR_NO_SPACE : MPI_SUCCESS);
        CHECK_EQUAL(error_class(MPI_File_sync(file)), MPI_ERR_NO_SPACE);
        CHECK_MPI(MPI_File_sync(file));
        close_file(file);
        context.barrier();
    }
}

int handled = 0;
void count_error(MPI_File*, int*, ...) { ++handled; }

// On all ranks, when it is waited for, and by the file's handler.
TEST(errors_come_out_at_the_end, under_unisono, faults_are_ours) {
    MPI_File file = open_faulty(context, "faulty");
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    CHECK_MPI(MPI_File_create_errhandler(count_error, &handler));
    CHECK_MPI(MPI_File_set_errhandler(file, handler));
    Bytes const data(1000, 1);
    MPI_Request request = MPI_REQUEST_NULL;
    handled = 0;
    CHECK_MPI(
        MPI_File_iwrite_at_all(file, context.rank * 1000, data.data(), 1000, MPI_BYTE, &request));
    CHECK_EQUAL(handled, 0);
    CHECK_EQUAL(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_NO_SPACE);
    CHECK_EQUAL(handled, 1);
    CHECK_MPI(MPI_Errhandler_free(&handler));
    close_file(file);
}

#ifdef SEMANTICS_REQUESTS_OF_MPI_4_1
TEST(errors_come_out_where_several_are_asked_about, under_unisono, faults_are_ours) {
    Pending good(context, "good");
    MPI_File file = open_faulty(context, "faulty");
    Bytes const data(1000, 1);
    good.begin_all();
    MPI_Request both[2] = {good.requests[0], MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    CHECK_MPI(
        MPI_File_iwrite_at_all(file, context.rank * 1000, data.data(), 1000, MPI_BYTE, &both[1]));
    int done = 0;
    int code = MPI_SUCCESS;
    while (done == 0) code = MPI_Request_get_status_all(2, both, &done, statuses);
    CHECK_EQUAL(error_class(code), MPI_ERR_IN_STATUS);
    CHECK_EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQUAL(error_class(statuses[1].MPI_ERROR), MPI_ERR_NO_SPACE);
    CHECK_EQUAL(error_class(MPI_Waitall(2, both, statuses)), MPI_ERR_IN_STATUS);
    close_file(file);
    good.check_and_close();
}
#endif

TEST(errors_are_in_the_status_of_their_request, under_unisono, faults_are_ours) {
    Pending good(context, "good", 2);
    MPI_File file = open_faulty(context, "faulty");
    Bytes const data(1000, 1);
    MPI_Request all[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    good.begin_all();
    all[0] = good.requests[0];
    all[2] = good.requests[1];
    CHECK_MPI(
        MPI_File_iwrite_at_all(file, context.rank * 1000, data.data(), 1000, MPI_BYTE, &all[1]));
    CHECK_EQUAL(error_class(MPI_Waitall(3, all, statuses)), MPI_ERR_IN_STATUS);
    CHECK_EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQUAL(error_class(statuses[1].MPI_ERROR), MPI_ERR_NO_SPACE);
    CHECK_EQUAL(statuses[2].MPI_ERROR, MPI_SUCCESS);
    close_file(file);
    good.check_and_close();
}

/// Errors of communicators are returned meanwhile.
class Returning {
public:
    Returning() {
        for (std::size_t i = 0; i < 2; ++i) {
            MPI_Comm_get_errhandler(comms_[i], &before_[i]);
            MPI_Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
        }
    }
    ~Returning() {
        for (std::size_t i = 0; i < 2; ++i) {
            MPI_Comm_set_errhandler(comms_[i], before_[i]);
            MPI_Errhandler_free(&before_[i]);
        }
    }
    Returning(Returning const&) = delete;
    Returning& operator=(Returning const&) = delete;

private:
    MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler before_[2] = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
};

TEST(errors_are_told_beside_those_of_messages, under_unisono, faults_are_ours) {
    Returning const returning;
    MPI_File file = open_faulty(context, "faulty");
    Bytes const data(1000, 1), message(10);
    MPI_Request all[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    CHECK_MPI(MPI_File_iwrite_at_all(file, context.rank * 1000, data.data(), 1000, MPI_BYTE, all));
    char too_short = 0;
    CHECK_MPI(MPI_Irecv(&too_short, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, &all[1]));
    CHECK_MPI(MPI_Send(message.data(), 10, MPI_BYTE, 0, 0, MPI_COMM_SELF));
    usleep(100000);  // both are over
    CHECK_EQUAL(error_class(MPI_Waitall(2, all, statuses)), MPI_ERR_IN_STATUS);
    auto code = statuses[0].MPI_ERROR;
    if (error_class(code) == MPI_ERR_PENDING) code = MPI_Wait(all, MPI_STATUS_IGNORE);
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
#ifndef OPEN_MPI  // 4.1.4 tells nobody
    CHECK_EQUAL(error_class(statuses[1].MPI_ERROR), MPI_ERR_TRUNCATE);
#endif
    close_file(file);
}

MPI_Request awaited_by_handler = MPI_REQUEST_NULL;
void wait_in_handler(MPI_File*, int*, ...) {
    CHECK_MPI(MPI_Wait(&awaited_by_handler, MPI_STATUS_IGNORE));
}

TEST(a_handler_waits_for_another_call, under_unisono, faults_are_ours) {
    Pending good(context, "good");
    MPI_File file = open_faulty(context, "faulty");
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    CHECK_MPI(MPI_File_create_errhandler(wait_in_handler, &handler));
    CHECK_MPI(MPI_File_set_errhandler(file, handler));
    Bytes const data(1000, 1);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(
        MPI_File_iwrite_at_all(file, context.rank * 1000, data.data(), 1000, MPI_BYTE, &request));
    good.begin_all();
    awaited_by_handler = good.requests[0];
    CHECK_EQUAL(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_NO_SPACE);
    CHECK(awaited_by_handler == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Errhandler_free(&handler));
    close_file(file);
    good.check_and_close();
}

TEST(wrong_arguments_of_one_rank_are_an_error_on_all, under_unisono,
     "the other ranks are told of a success") {
    Pending pending(context, "data");
    int const count = context.rank == context.size - 1 ? -1 : 100;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(
        MPI_File_iwrite_at_all(pending.file, 0, pending.data.data(), count, MPI_BYTE, &request));
    CHECK_EQUAL(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_COUNT);
    pending.begin_all();
    CHECK_MPI(MPI_Waitall(1, pending.requests.data(), MPI_STATUSES_IGNORE));
    pending.check_and_close();
}

TEST(ranks_in_different_calls_get_an_error, under_unisono, "nothing notices", 2) {
    Pending pending(context, "data");
    Bytes back(100);
    MPI_Request request = MPI_REQUEST_NULL;
    if (context.rank == 0)
        CHECK_MPI(MPI_File_iread_at_all(pending.file, 0, back.data(), 100, MPI_BYTE, &request));
    else
        CHECK_MPI(
            MPI_File_iwrite_at_all(pending.file, 0, pending.data.data(), 100, MPI_BYTE, &request));
    CHECK_EQUAL(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_NOT_SAME);
    close_file(pending.file);
}

TEST(large_independent_requests) {
    DealtView const view(context, 1 << 16);
    MPI_File file = open_file(context, view);
    constexpr int large = 3 << 19;
    Bytes const data = view.data(0, 2 * std::size_t{large});
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < 2; ++i)
        CHECK_MPI(MPI_File_iwrite(file,
                                  data.data() + std::size_t{large} * static_cast<std::size_t>(i),
                                  large, MPI_BYTE, &requests[i]));
    CHECK_MPI(MPI_Waitall(2, requests, statuses));
    for (auto const& status : statuses) CHECK_EQUAL(count_of(status, MPI_BYTE), large);
    Bytes back(data.size());
    CHECK_MPI(MPI_File_iread_at(file, 0, back.data(), 2 * large, MPI_BYTE, &requests[0]));
    CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    check_bytes(back, data, "what was read");
    close_file(file);
}

// Each takes so long that one which had been waited for would be over.
TEST(small_requests_waited_for_slow_storage_one_after_the_other, under_unisono, faults_are_ours) {
    MPI_File file = open_slow_file(context, 150000);
    Bytes const data = pattern_bytes(0, 200);
    for (int i = 0; i < 2; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        CHECK_MPI(
            MPI_File_iwrite_at(file, 100 * i, data.data() + 100 * i, 100, MPI_BYTE, &request));
        int done = 0;
        CHECK_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        CHECK_EQUAL(done, i == 0 ? 1 : 0);  // the first one tells that they are slow
        if (done != 0) continue;
        MPI_Status status;
        CHECK_MPI(MPI_Wait(&request, &status));
        CHECK_EQUAL(count_of(status, MPI_BYTE), 100);
    }
    check_read_at(file, 0, data, "what was written");
    close_file(file);
}

// Then this rank alone has had a thread for the file, which ends with the mode: what all do later
// must not count how many each of them has had.
TEST(begun_after_one_rank_alone_had_a_large_request) {
    constexpr int large = 1 << 20;
    Pending pending(context, "data");
    Bytes const alone(large, 1);
    MPI_Request request = MPI_REQUEST_NULL;
    if (context.rank == 0)
        CHECK_MPI(MPI_File_iwrite_at(pending.file, bytes, alone.data(), large, MPI_BYTE, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int atomic : {1, 0}) CHECK_MPI(MPI_File_set_atomicity(pending.file, atomic));
    pending.begin_all();
    CHECK_MPI(MPI_Waitall(1, pending.requests.data(), MPI_STATUSES_IGNORE));
    pending.check_and_close();
}

}  // namespace

}  // namespace semantics
