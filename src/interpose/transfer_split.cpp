#include <utility>

#include "interpose/conclusion.hpp"
#include "interpose/errors.hpp"
#include "interpose/left_in_memory.hpp"
#include "interpose/nonblocking.hpp"
#include "interpose/open_files.hpp"
#include "interpose/program.hpp"
#include "interpose/transfer.hpp"
#include "strategies/all.hpp"

namespace unisono::interpose {
namespace {

// Calls that may be over with a copy had better not be handed to another thread.
bool may_deposit(Options const& options) {
    return options.write_behind == Switch::enable || options.strategy == view_based.name;
}

// The class is that of the library's own.
int refuse_split(File& file, std::uint16_t operation, std::string const& why) {
    auto const mpich = mpi_library().family == MpiLibrary::Family::mpich;
    return fail(file, mpich ? MPI_ERR_IO : MPI_ERR_REQUEST, operation_name(operation), why);
}

bool in_split_call(File& file) { return file.split_call() && file.split_call()->begun; }

int refuse_second_split(File& file, DataCall const& call) {
    return refuse_split(file, call.operation,
                        "a split call has begun and not ended: a file has one at a time");
}

// Does all of a call in its first half, that way, unless it passes it on: `native` only begins it.
template <class Way>
int do_at_once(File& file, DataCall const& call, NativeCall const& native, Way&& way) {
    bool passed_on = false;
    MPI_Status status{};
    auto const result = way(&status, [&] {
        passed_on = true;
        return native();
    });
    File::SplitCall begun{.operation = call.operation, .begun = result == MPI_SUCCESS};
    if (!passed_on) begun.bytes = bytes_of(status);
    file.split_call() = std::move(begun);
    return result;
}

}  // namespace

int transfer_begin(DataCall const& call, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (in_split_call(*file)) return refuse_second_split(*file, call);
    if (file->taken_over() && can_overlap(*file) && !may_deposit(file->call_options())) {
        if (has_data_in_blocks(*file)) file->drain();  // they are not this call's own
        auto pending = begin_beside(file, call, /*collective=*/true);
        file->split_call() = {.operation = call.operation, .beside = pending};
        file->nonblocking().post(std::move(pending));
        return MPI_SUCCESS;
    }
    return do_at_once(*file, call, native, [&](MPI_Status* status, NativeCall const& begin) {
        return transfer_collective(call, status, begin);
    });
}

int transfer_begin_ordered(DataCall const& call, OrderedCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native.ordered();
    if (in_split_call(*file)) return refuse_second_split(*file, call);
    return do_at_once(*file, call, native.ordered,
                      [&](MPI_Status* status, NativeCall const& begin) {
                          return transfer_ordered(call, status, {begin, native.at});
                      });
}

namespace {

// The file pointer is where the call has left it when it began.
bool left_the_pointer(File const& file, PendingCall const& pending) {
    auto const& prepared = pending.prepared;
    return !pending.call.offset && prepared.refusal == 0 &&
           file.pointer() == prepared.first + etypes_asked(prepared, pending.call);
}

int end_beside(File& file, PendingCall& pending, MPI_Status* status) {
    CallRecord record;
    {
        PendingCalls::Waiting const waiting;
        SeenWaiting seen;
        while (pending.stage == PendingCall::Stage::helped) {
            file.context().progress();
            seen.wait_for(&pending);
            PendingCalls::Waiting::for_a_moment();
        }
    }
    record.lap(Phase::waiting);
    file.record([&](FileReport& report) { add_call(report[pending.call.direction], record); });
    auto const left = left_the_pointer(file, pending);
    move_on(pending);
    if (left)
        file.set_pointer(pending.prepared.first +
                         etypes_of(pending.prepared, pending.outcome.bytes));
    set_count(status, pending.bytes);
    return raise(file.handle(), pending.code);
}

}  // namespace

int transfer_end(MPI_File handle, Direction direction, std::uint16_t operation, MPI_Status* status,
                 NativeCall const& native) {
    auto const file = find(handle);
    if (file == nullptr) return native();
    auto const& begun_call = file->split_call();
    if (!begun_call)
        return refuse_split(*file, operation, "no split call has begun, or it has ended already");
    if (!is_end_of(begun_call->operation, operation))
        return refuse_split(*file, operation,
                            "the split call that has begun is " +
                                std::string{operation_name(begun_call->operation)});
    auto const first_half = *std::exchange(file->split_call(), {});
    if (first_half.beside != nullptr) return end_beside(*file, *first_half.beside, status);
    if (!first_half.bytes) {
        CallRecord record;
        auto const result = pass_on(handle, {.pointer = true, .collective = true},
                                    "the end of a split call", native);
        record.lap(Phase::native);
        file->record([&](FileReport& report) { add_call(report[direction], record); });
        return result;
    }
    set_count(status, *first_half.bytes);
    return MPI_SUCCESS;
}

}  // namespace unisono::interpose
