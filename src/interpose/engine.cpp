// The engine's table: which of Unisono's functions stands for which entry point.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <span>
#include <string_view>

#include "interpose/errors.hpp"
#include "interpose/file_calls.hpp"
#include "interpose/finalize.hpp"
#include "interpose/guard.hpp"
#include "interpose/messages.hpp"
#include "interpose/native.hpp"
#include "interpose/point_to_point.hpp"
#include "interpose/requests.hpp"
#include "interpose/thrown.hpp"
#include "interpose/transfer.hpp"
#include "report/trace.hpp"
#include "support/text.hpp"

namespace unisono::interpose {

std::array<unisono_function, unisono_entry_count> native_functions{};
int const* made_backwards = nullptr;

namespace {

// Data calls; `native` is passed by reference, as a copy would ask for memory in each call. NAME is
// the MPI name without the prefix, COUNT int or MPI_Count, DIRECTION read or write, HOW one of the
// transfer_* functions, LAST the type of the last argument.
template <Direction direction>
using BufferOf = std::conditional_t<direction == Direction::read, void*, void const*>;
#define UNISONO_CALL_AT(NAME, COUNT, DIRECTION, HOW, LAST)                                     \
    int NAME(MPI_File handle, MPI_Offset offset, BufferOf<Direction::DIRECTION> buffer,        \
             COUNT count, MPI_Datatype type, LAST last) {                                      \
        auto const native = [&] {                                                              \
            return UNISONO_NATIVE(NAME)(handle, offset, buffer, count, type, last);            \
        };                                                                                     \
        return HOW(                                                                            \
            {handle, Direction::DIRECTION, offset, buffer, count, type, unisono_entry_##NAME}, \
            last, std::cref(native));                                                          \
    }
#define UNISONO_CALL(NAME, COUNT, DIRECTION, HOW, LAST)                                           \
    int NAME(MPI_File handle, BufferOf<Direction::DIRECTION> buffer, COUNT count,                 \
             MPI_Datatype type, LAST last) {                                                      \
        auto const native = [&] {                                                                 \
            return UNISONO_NATIVE(NAME)(handle, buffer, count, type, last);                       \
        };                                                                                        \
        return HOW({handle, Direction::DIRECTION, {}, buffer, count, type, unisono_entry_##NAME}, \
                   last, std::cref(native));                                                      \
    }
#define UNISONO_BEGIN_AT(NAME, COUNT, DIRECTION)                                               \
    int NAME(MPI_File handle, MPI_Offset offset, BufferOf<Direction::DIRECTION> buffer,        \
             COUNT count, MPI_Datatype type) {                                                 \
        return transfer_begin(                                                                 \
            {handle, Direction::DIRECTION, offset, buffer, count, type, unisono_entry_##NAME}, \
            [&] { return UNISONO_NATIVE(NAME)(handle, offset, buffer, count, type); });        \
    }
#define UNISONO_BEGIN(NAME, COUNT, DIRECTION)                                              \
    int NAME(MPI_File handle, BufferOf<Direction::DIRECTION> buffer, COUNT count,          \
             MPI_Datatype type) {                                                          \
        return transfer_begin(                                                             \
            {handle, Direction::DIRECTION, {}, buffer, count, type, unisono_entry_##NAME}, \
            [&] { return UNISONO_NATIVE(NAME)(handle, buffer, count, type); });            \
    }
// Ordered calls; AT is the collective call at an offset.
#define UNISONO_AT(AT)                                                             \
    [&](MPI_Offset offset, MPI_Status* status_at) {                                \
        return UNISONO_NATIVE(AT)(handle, offset, buffer, count, type, status_at); \
    }
#define UNISONO_ORDERED(NAME, AT, COUNT, DIRECTION)                                                \
    int NAME(MPI_File handle, BufferOf<Direction::DIRECTION> buffer, COUNT count,                  \
             MPI_Datatype type, MPI_Status* status) {                                              \
        return transfer_ordered(                                                                   \
            {handle, Direction::DIRECTION, {}, buffer, count, type, unisono_entry_##NAME}, status, \
            {[&] { return UNISONO_NATIVE(NAME)(handle, buffer, count, type, status); },            \
             UNISONO_AT(AT)});                                                                     \
    }
#define UNISONO_BEGIN_ORDERED(NAME, AT, COUNT, DIRECTION)                                         \
    int NAME(MPI_File handle, BufferOf<Direction::DIRECTION> buffer, COUNT count,                 \
             MPI_Datatype type) {                                                                 \
        return transfer_begin_ordered(                                                            \
            {handle, Direction::DIRECTION, {}, buffer, count, type, unisono_entry_##NAME},        \
            {[&] { return UNISONO_NATIVE(NAME)(handle, buffer, count, type); }, UNISONO_AT(AT)}); \
    }

// Every data call, once for each direction and type of count.
#define UNISONO_DATA_CALLS(D, SUFFIX, COUNT)                                                       \
    UNISONO_CALL(File_##D##SUFFIX, COUNT, D, transfer_independent, MPI_Status*)                    \
    UNISONO_CALL(File_##D##_all##SUFFIX, COUNT, D, transfer_collective, MPI_Status*)               \
    UNISONO_CALL_AT(File_##D##_at##SUFFIX, COUNT, D, transfer_independent, MPI_Status*)            \
    UNISONO_CALL_AT(File_##D##_at_all##SUFFIX, COUNT, D, transfer_collective, MPI_Status*)         \
    UNISONO_CALL(File_i##D##SUFFIX, COUNT, D, transfer_nonblocking, MPI_Request*)                  \
    UNISONO_CALL_AT(File_i##D##_at##SUFFIX, COUNT, D, transfer_nonblocking, MPI_Request*)          \
    UNISONO_CALL(File_i##D##_all##SUFFIX, COUNT, D, transfer_nonblocking_collective, MPI_Request*) \
    UNISONO_CALL_AT(File_i##D##_at_all##SUFFIX, COUNT, D, transfer_nonblocking_collective,         \
                    MPI_Request*)                                                                  \
    UNISONO_CALL(File_##D##_shared##SUFFIX, COUNT, D, transfer_shared, MPI_Status*)                \
    UNISONO_CALL(File_i##D##_shared##SUFFIX, COUNT, D, transfer_nonblocking_shared, MPI_Request*)  \
    UNISONO_ORDERED(File_##D##_ordered##SUFFIX, File_##D##_at_all##SUFFIX, COUNT, D)               \
    UNISONO_BEGIN(File_##D##_all_begin##SUFFIX, COUNT, D)                                          \
    UNISONO_BEGIN_AT(File_##D##_at_all_begin##SUFFIX, COUNT, D)                                    \
    UNISONO_BEGIN_ORDERED(File_##D##_ordered_begin##SUFFIX, File_##D##_at_all##SUFFIX, COUNT, D)

UNISONO_DATA_CALLS(read, , int)
UNISONO_DATA_CALLS(write, , int)
#ifdef UNISONO_LARGE_COUNTS
UNISONO_DATA_CALLS(read, _c, MPI_Count)
UNISONO_DATA_CALLS(write, _c, MPI_Count)
#endif

#define UNISONO_END(NAME, DIRECTION)                                                       \
    int NAME(MPI_File handle, BufferOf<Direction::DIRECTION> buffer, MPI_Status* status) { \
        return transfer_end(handle, Direction::DIRECTION, unisono_entry_##NAME, status,    \
                            [&] { return UNISONO_NATIVE(NAME)(handle, buffer, status); }); \
    }
UNISONO_END(File_read_all_end, read)
UNISONO_END(File_read_at_all_end, read)
UNISONO_END(File_read_ordered_end, read)
UNISONO_END(File_write_all_end, write)
UNISONO_END(File_write_at_all_end, write)
UNISONO_END(File_write_ordered_end, write)

constexpr auto Finalize = before_finalize;  // NOLINT(readability-identifier-naming): MPI's name

// Exceptions of the program, and the end of threads that are cancelled, pass the engine's
// functions. The engine has a libgcc of its own, which takes none to them before it has thrown one.
void make_ready_for_exceptions() {
    try {
        throw ThrownByProgram{};
    } catch (ThrownByProgram const&) {
    }
}

/// Where the shim has each of our entry points; null: nowhere.
using Places = std::array<unisono_function*, unisono_entry_count>;

Places places_by_name(std::span<char const* const> names, unisono_function* taken) {
    static constexpr std::array<std::string_view, unisono_entry_count> own{
        UNISONO_ALL_ENTRIES(UNISONO_ENTRY_NAME)};
    Places places{};
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto const* const found = std::ranges::find(own, std::string_view{names[i]});
        if (found != own.end()) places[found - own.begin()] = taken + i;
    }
    return places;
}

bool switched_off() {
    auto const* const setting = secure_getenv("UNISONO_DISABLE");
    return setting != nullptr && parse_boolean(trim(setting)).value_or(false);
}

}  // namespace
}  // namespace unisono::interpose

// One statement written for each entry point. NOLINTNEXTLINE(readability-function-size)
extern "C" __attribute__((visibility("default"))) int unisono_start(
    char const* const* names, int count, unisono_function const* native, unisono_function* taken,
    int const* watched_backwards, int standard_error) {
    using namespace unisono::interpose;
    auto const places = places_by_name({names, static_cast<std::size_t>(count)}, taken);
    for (std::size_t entry = 0; entry < places.size(); ++entry)
        if (places[entry] != nullptr) native_functions[entry] = native[places[entry] - taken];
    made_backwards = watched_backwards;
    make_ready_for_exceptions();
    note_standard_error(standard_error != 0);
    if (switched_off()) {
        if (auto const* const traces = secure_getenv("UNISONO_REPORT_TRACES"))
            unisono::leave_mark(traces, "disabled");
        static constexpr auto entry = entry_point("MPI_File_open");
        *places[unisono_entry_File_open] =
            reinterpret_cast<unisono_function>(&Guarded<open_switched_off, entry>::call);
        return 0;
    }
    // What this MPI library, or the shim, does not have stays absent.
#define UNISONO_TAKE(name)                                                                   \
    if (native_functions[unisono_entry_##name] != nullptr) {                                 \
        static_assert(std::is_same_v<decltype(&PMPI_##name), std::decay_t<decltype(name)>>); \
        static constexpr auto entry = entry_point("MPI_" #name);                             \
        *places[unisono_entry_##name] =                                                      \
            reinterpret_cast<unisono_function>(&Guarded<name, entry>::call);                 \
    }
    UNISONO_ALL_ENTRIES(UNISONO_TAKE)
#undef UNISONO_TAKE
    return 0;
}
