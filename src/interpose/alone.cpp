#include "interpose/alone.hpp"

#include <cerrno>
#include <string>

#include "devices/device_memory.hpp"
#include "execute/direct.hpp"
#include "execute/through_host.hpp"
#include "interpose/conclusion.hpp"
#include "interpose/errors.hpp"
#include "interpose/left_in_memory.hpp"
#include "interpose/lone_handle.hpp"
#include "interpose/pass_on.hpp"

namespace unisono::interpose {

IoResult access_alone(File& file, Request const& request, CallRecord& record) {
    auto const writes = request.direction == Direction::write;
    if (!writes)
        for (auto const& other : caches_of_others(file)) other->settle_size();
    auto const cache = file.cache();
    auto const result = cache != nullptr
                            ? cache->perform_independent(request, record)
                            : perform_direct(request, request.positions, file.storage(), record);
    if (writes) file.durability().note_written();
    if (cache == nullptr) renew_blocks(file, request, result.bytes);
    tell_other_handles(file, request, result.bytes);
    return result;
}

namespace {

// The code of an error of this rank's; nothing is raised yet.
int own_code(File& file, DataCall const& call, int error_class, std::string const& why) {
    return code_of(file, call, error_class, why, Told::this_rank);
}

int code_by_pointer(File& file, DataCall const& call, int error) {
    if (error == EOVERFLOW) return own_code(file, call, MPI_ERR_ARG, pointer_beyond);
    return own_code(
        file, call, error_class_of(error),
        "the shared file pointer is in a hidden file beside it, which cannot be used: " +
            describe_errno(error));
}

}  // namespace

Alone perform_alone(File& file, DataCall const& call, Prepared& prepared, CallRecord& record,
                    Pointer pointer, MPI_Status* status) {
    auto const& view = *prepared.view;
    if (!prepared.usable && prepared.refusal == 0 && view.usable && view.kept_back)
        pack(prepared, call);
    if (prepared.refusal != 0) return {own_code(file, call, prepared.refusal, prepared.why)};
    if (!prepared.usable)
        return {own_code(file, call, MPI_ERR_UNSUPPORTED_OPERATION,
                         "Unisono cannot do it, and the MPI library has no such view yet")};
    auto const asked = prepared.request.positions.bytes();
    auto const asked_etypes = etypes_of(prepared, asked);
    SharedPointer::Value begin{call.offset.value_or(0)};
    if (pointer == Pointer::shared)
        begin = file.shared_pointer().advance(asked_etypes);
    else if (!call.offset)
        begin.etypes = file.advance_pointer(asked_etypes);
    if (begin.error != 0) return {code_by_pointer(file, call, begin.error)};
    place(prepared, begin.etypes);
    if (prepared.refusal != 0) {
        if (!call.offset && pointer != Pointer::shared) file.set_pointer(begin.etypes);
        return {own_code(file, call, prepared.refusal, prepared.why)};
    }
    auto const& request = prepared.request;
    auto const perform = [&](Request const& part) { return access_alone(file, part, record); };
    record.lap(Phase::other);
    auto const result = request.device == nullptr
                            ? perform(request)
                            : perform_through_host(request, file.options(), record, perform);
    if (!call.offset && pointer == Pointer::individual && result.bytes != asked)
        file.set_pointer(prepared.first + etypes_of(prepared, result.bytes));
    set_count(status, deliver(prepared, call, result.bytes));
    record.lap(Phase::other);
    file.record([&](FileReport& report) {
        auto& direction = report[call.direction];
        ++direction.independent_calls;
        direction.independent_time.add(record.whole_s());
        add_request(direction, request);
        add_call(direction, record, asked);
    });
    if (!result.error) return {.bytes = result.bytes};
    auto const rank = static_cast<std::uint32_t>(file.context().rank());
    return {code_of(file, call, Verdict{result, rank}, Told::this_rank), result.bytes,
            lost_in(request, result, rank)};
}

Alone perform_alone(File& file, DataCall const& call, Pointer pointer, MPI_Status* status) {
    CallRecord record{file.clock_of_reports()};
    auto prepared = prepare(file, call, Ends::at_return);
    return perform_alone(file, call, prepared, record, pointer, status);
}

bool native_must_do(File const& file, Prepared const& prepared) {
    // Memory that the CPU cannot access is copied part by part: not at once.
    auto const& view = *prepared.view;
    if (!file.taken_over(view) || (file.atomic() && any_driver())) return true;
    if (!view.usable || file.storage().backend == nullptr) return view.mirrored;
    if (prepared.usable || prepared.refusal != 0) return false;
    return prepared.type != nullptr || !view.kept_back;  // nullptr: what it is, is not known
}

bool native_must_do(File const& file, DataCall const& call) {
    return native_must_do(file, prepare(file, call, Ends::later));
}

bool native_must_do_shared(File const& file, DataCall const& call) {
    return !file.view()->kept_back && is_open_for(file, call.direction);
}

namespace {

Alone perform_alone_natively(File& file, DataCall const& call, MPI_Status* status) {
    if (file.view()->native_layout_differs || !prepare_bypass(file))
        return {own_code(file, call, MPI_ERR_UNSUPPORTED_OPERATION,
                         "the MPI library would have to do it, and has such data elsewhere")};
    CallRecord record;
    Alone done;
    {
        UnderWay const access{file.io_counts()};
        done.code = call_alone(file, call, status);
    }
    if (call.direction == Direction::write) file.durability().note_native();
    record.lap(Phase::native);
    done.bytes = bytes_of(*status);
    file.record([&](FileReport& report) {
        auto& direction = report[call.direction];
        ++direction.native_independent_calls[nonblocking_by_mpi];
        direction.failed_independent_calls += done.code != MPI_SUCCESS;
        add_native(direction, done.bytes);
        add_call(direction, record, done.bytes);
    });
    if (done.code != MPI_SUCCESS) note_native_failure(file, call, done.code);
    return done;
}

Alone perform_own_part(File& file, DataCall const& call, PendingCall const& pending,
                       MPI_Status* status) {
    auto const& storage = file.storage();
    if (storage.backend == nullptr || native_must_do(file, call))
        return perform_alone_natively(file, call, status);
    auto const shared = call.direction == Direction::write && storage.page_cached &&
                        file.team().topology().nodes() > 1;
    PageLock const pages{pending.prepared.request, storage, shared};
    auto const error = pages.error();
    if (!error) return perform_alone(file, call, Pointer::individual, status);
    return {own_code(file, call, error_class_of(error.code),
                     "its pages cannot be locked: " + describe_errno(error.code))};
}

}  // namespace

void do_own_part(PendingCall& pending) {
    auto& file = *pending.file;
    auto call = pending.call;
    call.offset = pending.prepared.first;
    file.record([&](FileReport& report) { add_to_recording(report, pending.prepared); });
    MPI_Status status{};
    auto const done = [&] {
        auto const held = file.hold();
        return perform_own_part(file, call, pending, &status);
    }();
    pending.code = done.code;
    pending.outcome.bytes = done.bytes;
    pending.outcome.verdict = done.lost;
    pending.bytes = bytes_of(status);
}

}  // namespace unisono::interpose
