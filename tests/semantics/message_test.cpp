// A program may have point-to-point messages pending across a collective call: whoever waits in
// the call must drive them, or the peer waits for ever.
#include "files.hpp"

namespace semantics {
namespace {

constexpr int large_bytes = 64 << 20;  // far beyond any eager limit
constexpr int bytes_of_call = 8000;

void write_some(Context const& context, MPI_File file, int call) {
    DealtView const view(context, 80);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(call * bytes_of_call, bytes_of_call);
    CHECK_MPI(MPI_File_write_at_all(file, call * bytes_of_call, data.data(), bytes_of_call,
                                    MPI_BYTE, MPI_STATUS_IGNORE));
}

// Rank 0: Isend, write_all, Wait. Rank 1: Recv, write_all. The others: write_all.
TEST(a_large_send_is_pending_across_a_write, .ranks_min = 2) {
    MPI_File file = open_file(context, context.path());
    write_some(context, file, 0);
    Bytes message;
    if (context.rank == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        message.assign(large_bytes, 7);
        MPI_Isend(message.data(), large_bytes, MPI_BYTE, 1, 5, context.comm, &request);
        write_some(context, file, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        if (context.rank == 1) {
            message.assign(large_bytes, 0);
            MPI_Recv(message.data(), large_bytes, MPI_BYTE, 0, 5, context.comm, MPI_STATUS_IGNORE);
            CHECK(message.front() == 7 && message[large_bytes / 2] == 7 && message.back() == 7);
        }
        write_some(context, file, 1);
    }
    close_file(file);
    check_file(context, context.path(), 2 * bytes_of_call * static_cast<std::size_t>(context.size));
}

// The same with a read, and with the message posted by the last rank.
TEST(a_large_receive_is_pending_across_a_read, .ranks_min = 2) {
    prepare_file(context, context.path(), bytes_of_call * static_cast<std::size_t>(context.size));
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
    DealtView const view(context, 80);
    CHECK_MPI(view.set(file));
    int const last = context.size - 1;
    Bytes message(context.rank == 0 || context.rank == last ? large_bytes : 0, 3);
    MPI_Request request = MPI_REQUEST_NULL;
    if (context.rank == last)
        MPI_Isend(message.data(), large_bytes, MPI_BYTE, 0, 6, context.comm, &request);
    if (context.rank == 0)
        MPI_Recv(message.data(), large_bytes, MPI_BYTE, last, 6, context.comm, MPI_STATUS_IGNORE);
    Bytes back(bytes_of_call);
    CHECK_MPI(MPI_File_read_all(file, back.data(), bytes_of_call, MPI_BYTE, MPI_STATUS_IGNORE));
    check_bytes(back, view.data(0, bytes_of_call), "what was read");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    close_file(file);
}

// Everybody sends to the right, writes, and only then receives from the left.
TEST(a_ring_of_messages_around_each_call) {
    MPI_File file = open_file(context, context.path());
    constexpr int ring_bytes = 1 << 20;
    Bytes out(ring_bytes), in(ring_bytes);
    int const right = (context.rank + 1) % context.size;
    int const left = (context.rank + context.size - 1) % context.size;
    for (int call = 0; call < 4; ++call) {
        MPI_Request requests[2];
        std::fill(out.begin(), out.end(), static_cast<std::uint8_t>(context.rank + call));
        MPI_Irecv(in.data(), ring_bytes, MPI_BYTE, left, call, context.comm, &requests[0]);
        MPI_Isend(out.data(), ring_bytes, MPI_BYTE, right, call, context.comm, &requests[1]);
        write_some(context, file, call);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_EQUAL(int{in.back()}, left + call);
    }
    close_file(file);
    check_file(context, context.path(), 4 * bytes_of_call * static_cast<std::size_t>(context.size));
}

// Wildcard receives of the program must not catch Unisono's messages.
TEST(wildcard_receives_are_left_alone) {
    MPI_File file = open_file(context, context.path());
    int incoming = -1, outgoing = 1000 + context.rank;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&incoming, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, context.comm, &request);
    for (int call = 0; call < 3; ++call) write_some(context, file, call);
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(!done);
    context.barrier();
    MPI_Send(&outgoing, 1, MPI_INT, (context.rank + 1) % context.size, 9, context.comm);
    if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(incoming, 1000 + (context.rank + context.size - 1) % context.size);
    close_file(file);
}

}  // namespace

}  // namespace semantics
