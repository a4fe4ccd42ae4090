#include "interpose/plain_call.hpp"

#include <cerrno>

#include "devices/device_memory.hpp"
#include "execute/direct.hpp"
#include "execute/through_host.hpp"
#include "interpose/conclusion.hpp"
#include "interpose/errors.hpp"
#include "interpose/left_in_memory.hpp"

namespace unisono::interpose {
namespace {

// How much the call moves, if that lies together in memory and it is not a call that goes wrong.
std::optional<std::uint64_t> bytes_of(File const& file, File::PlainView const& view,
                                      DataCall const& call) {
    auto const* const type = named_and_decoded(call.type);
    std::int64_t bytes = 0;
    if (type == nullptr || !(*type)->dense() || call.count <= 0 ||
        !is_open_for(file, call.direction) ||
        __builtin_mul_overflow(call.count, (*type)->bytes, &bytes) || bytes % view.etype_bytes != 0)
        return {};
    return static_cast<std::uint64_t>(bytes);
}

// So many bytes of the call, if they can begin at that etype.
std::optional<Transfer> piece_at(MPI_Offset first, std::uint64_t bytes, DataCall const& call,
                                 File::PlainView const& view) {
    std::int64_t begin = 0, end = 0;
    if (first < 0 || __builtin_mul_overflow(first, view.etype_bytes, &begin) ||
        __builtin_add_overflow(begin, view.begin, &begin) ||
        __builtin_add_overflow(begin, bytes, &end) || end > offset_end)
        return {};
    return Transfer{static_cast<std::uint64_t>(begin),
                    static_cast<std::byte*>(const_cast<void*>(call.buffer)), bytes};
}

// What is short goes by a system call, which refuses memory that the CPU cannot access: that is
// cheaper than to look, before each call, whether a driver was loaded since the last look.
bool may_be_a_devices(File const& file, std::uint64_t bytes) {
    auto const by_system_call = bytes < one_piece_mapped_bytes && !file.by_mpi();
    return by_system_call ? any_driver_found() : any_driver();
}

Request request_of(Direction direction, Transfer const& piece) {
    return {.direction = direction,
            .view = {make_dense(1), 0, 1},
            .positions = {piece.offset, piece.offset + piece.bytes},
            .memory = {make_dense(1), 0, 1},
            .base = reinterpret_cast<std::uintptr_t>(piece.memory)};
}

// After a system call that could not access the memory.
IoResult perform_by_driver(File const& file, Request request, IoResult const& refused) {
    request.device = device_of(request.in_memory(request.positions));
    if (request.device == nullptr) return refused;
    CallRecord record{file.clock_of_reports()};
    return perform_through_host(request, file.options(), record, [&](Request const& part) {
        return perform_direct(part, part.positions, file.storage(), record);
    });
}

IoResult perform(File& file, DataCall const& call, Transfer const& piece, MPI_Status* status) {
    auto result = file.storage().backend->perform(call.direction, {&piece, 1});
    if (result.error.code == EFAULT && result.bytes == 0)
        result = perform_by_driver(file, request_of(call.direction, piece), result);
    if (file.context().threaded() && has_data_in_blocks(file))
        renew_blocks(file, request_of(call.direction, piece), result.bytes);
    if (call.direction == Direction::write) file.durability().note_written();
    set_count(status, result.bytes);
    return result;
}

int code_of(File& file, DataCall const& call, IoResult const& result) {
    if (!result.error) return MPI_SUCCESS;
    auto const rank = static_cast<std::uint32_t>(file.context().rank());
    return code_of(file, call, Verdict{result, rank}, Told::this_rank);
}

}  // namespace

std::optional<int> perform_plain(File& file, DataCall const& call, MPI_Status* status) {
    auto const view = file.plain_view();
    if (!view || (view->cache != nullptr && view->cache->in_use())) return {};
    auto const bytes = bytes_of(file, *view, call);
    if (!bytes || may_be_a_devices(file, *bytes)) return {};
    // Other threads' calls begin behind this one.
    auto const first = call.offset ? *call.offset : file.advance_pointer(view->etypes_of(*bytes));
    auto const piece = piece_at(first, *bytes, call, *view);
    if (!piece) {
        if (!call.offset) file.set_pointer(first);
        return {};
    }
    auto const result = perform(file, call, *piece, status);
    if (!call.offset && result.bytes != piece->bytes)
        file.set_pointer(first + view->etypes_of(result.bytes));
    return code_of(file, call, result);
}

std::optional<int> perform_plain_part(File& file, DataCall const& call, MPI_Status* status) {
    auto const view = file.plain_view();
    if (!view || view->cache == nullptr || !view->cache->window_is_direct() ||
        file.context().tuner().wants(view->cache->window_choice()))
        return {};
    auto const bytes = bytes_of(file, *view, call);
    if (!bytes || may_be_a_devices(file, *bytes)) return {};
    auto const first = call.offset ? *call.offset : file.pointer();
    auto const piece = piece_at(first, *bytes, call, *view);
    if (!piece) return {};
    auto const now_s = call.direction == Direction::write ? steady_clock_s() : 0;
    Extent const range{piece->offset, piece->offset + piece->bytes};
    if (!view->cache->begin_directly(call.direction, range, now_s)) return {};
    auto const result = perform(file, call, *piece, status);
    if (!call.offset) file.set_pointer(first + view->etypes_of(result.bytes));
    if (result.error) view->cache->note_lost(request_of(call.direction, *piece), result);
    return code_of(file, call, result);
}

}  // namespace unisono::interpose
