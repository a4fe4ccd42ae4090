#include <array>
#include <limits>

#include "interpose/alike.hpp"
#include "interpose/errors.hpp"
#include "interpose/file_calls.hpp"
#include "interpose/native.hpp"
#include "interpose/numbers.hpp"
#include "interpose/open_files.hpp"
#include "interpose/pass_on.hpp"
#include "interpose/timed.hpp"

namespace unisono::interpose {
namespace {

// Where `offset` from `start` is; negative where no pointer can be.
MPI_Offset moved(MPI_Offset start, MPI_Offset offset) {
    MPI_Offset target = 0;
    return __builtin_add_overflow(start, offset, &target) ? -1 : target;
}

bool knows_end(FileView const& view) {
    auto const& tiling = view.tiling;
    return view.usable && (tiling.shape->empty() || (tiling.shape->ascending && tiling.extent > 0));
}

// `offset` from the end of a file of so many bytes: the first etype behind the last byte (MPI-4.1,
// 14.1.1). Also where tiles run into each other; ROMIO takes an etype within the file there.
MPI_Offset moved_from_end(MPI_Offset file_bytes, MPI_Offset offset, FileView const& view) {
    if (view.tiling.shape->empty()) return offset;
    auto const end = first_unit_from(view.tiling, file_bytes, view.etype_bytes);
    constexpr auto most = std::numeric_limits<MPI_Offset>::max();
    return !end || *end > most ? -1 : moved(static_cast<MPI_Offset>(*end), offset);
}

constexpr auto no_whence = "whence is none of MPI_SEEK_*";
constexpr auto no_place = "before the start of the view, or beyond 2^63 etypes";

}  // namespace

int File_seek(MPI_File handle, MPI_Offset offset, int whence) {
    auto const file = find(handle);
    if (file == nullptr) return UNISONO_NATIVE(File_seek)(handle, offset, whence);
    auto const view = file->view();
    if (whence == numbers().seek_end ? !knows_end(*view) : !view->usable)
        return pass_on(handle, {.pointer = true}, "MPI_File_seek",
                       [&] { return UNISONO_NATIVE(File_seek)(handle, offset, whence); });
    auto target = offset;
    if (whence == numbers().seek_cur) {
        target = moved(file->pointer(), offset);
    } else if (whence == numbers().seek_end) {
        MPI_Offset size = 0;
        if (auto const result = File_get_size(handle, &size); result != MPI_SUCCESS) return result;
        target = moved_from_end(size, offset, *view);
    } else if (whence != numbers().seek_set)
        return fail(*file, MPI_ERR_ARG, "MPI_File_seek", no_whence);
    if (target < 0) return fail(*file, MPI_ERR_ARG, "MPI_File_seek", no_place);
    file->set_pointer(target);
    return MPI_SUCCESS;
}

namespace {

bool is_whence(int whence) {
    return whence == numbers().seek_set || whence == numbers().seek_cur ||
           whence == numbers().seek_end;
}

// What all ranks have to say about a seek, and where the pointer is. Collective.
CallArguments meet_to_seek(File& file, FileView const& view, MPI_Offset offset, int whence) {
    std::array const arguments{static_cast<std::uint64_t>(offset),
                               static_cast<std::uint64_t>(whence)};
    auto all = arguments_with(file, arguments, is_whence(whence) ? 0 : MPI_ERR_ARG);
    if (whence == numbers().seek_cur) all.begin = known_shared_pointer(file, all.objection);
    if (whence == numbers().seek_end) all.objection.must_be_native = !knows_end(view);
    file.meet(all);
    return all;
}

// Ranks have no later size than when they came, and nobody writes on before all have come. Negative
// where some rank cannot tell. Collective.
MPI_Offset agreed_size(File& file) {
    file.drain();
    constexpr auto unknown = std::numeric_limits<MPI_Offset>::max();
    MPI_Offset size = 0;
    if (File_get_size(file.handle(), &size) != MPI_SUCCESS) size = unknown;
    size = file.largest(size);
    return size == unknown ? -1 : size;
}

// From there the MPI libraries' calls with the shared pointer come to where the number has wrapped
// round to.
bool leads_beyond_reach(FileView const& view, MPI_Offset etypes) {
    return view.usable && !view.tiling.shape->empty() &&
           !within_reach(view.tiling, static_cast<std::uint64_t>(etypes), view.etype_bytes, 1);
}

}  // namespace

// Open MPI 4.1 leaves the displacement out where it counts from the end. What is wrong on one rank
// is refused on all, so that they go on from the same place.
int File_seek_shared(MPI_File handle, MPI_Offset offset, int whence) {
    auto const file = find(handle);
    if (file == nullptr) return UNISONO_NATIVE(File_seek_shared)(handle, offset, whence);
    TimedCollective const timed{file, FilePhase::other, unisono_entry_File_seek_shared};
    constexpr auto call = "MPI_File_seek_shared";
    auto const refuse = [&](int error_class, char const* why) {
        return fail(*file, error_class, call, why);
    };
    auto const view = file->view();
    auto const all = meet_to_seek(*file, *view, offset, whence);
    if (auto const refused = refuse_unless_alike(*file, all, call, no_whence);
        refused != MPI_SUCCESS)
        return refused;
    auto target = offset;
    if (whence == numbers().seek_cur) {
        if (auto const lost = refuse_lost_pointer(*file, all, call); lost != MPI_SUCCESS)
            return lost;
        target = moved(all.begin, offset);
    }
    if (whence == numbers().seek_end) {
        if (all.objection.must_be_native)
            return pass_on(handle, {.collective = true}, call, [&] {
                return UNISONO_NATIVE(File_seek_shared)(handle, offset, whence);
            });
        auto const size = agreed_size(*file);
        if (size < 0) return refuse(MPI_ERR_IO, "some rank cannot tell the end");
        target = moved_from_end(size, offset, *view);
    }
    if (target < 0) return refuse(MPI_ERR_ARG, no_place);
    if (!view->mirrored) {
        file->set_shared_pointer(target);
        return MPI_SUCCESS;
    }
    if (leads_beyond_reach(*view, target)) return refuse(MPI_ERR_ARG, beyond_reach);
    return pass_on(handle, {.collective = true}, call,
                   [&] { return move_native_shared_pointer(*file, target, call); });
}

int File_get_position_shared(MPI_File handle, MPI_Offset* offset) {
    auto const file = find(handle);
    if (file == nullptr || offset == nullptr || file->view()->mirrored)
        return at_native_shared_pointer(
            [&] { return UNISONO_NATIVE(File_get_position_shared)(handle, offset); });
    auto const value = [&] {
        auto const held = file->hold();
        return file->shared_pointer().value();
    }();
    if (value.error != 0)
        return fail(*file, error_class_of(value.error), "MPI_File_get_position_shared",
                    "its hidden file: " + describe_errno(value.error));
    *offset = value.etypes;
    return MPI_SUCCESS;
}

int File_get_position(MPI_File handle, MPI_Offset* offset) {
    auto const file = find(handle);
    if (file == nullptr || offset == nullptr)
        return UNISONO_NATIVE(File_get_position)(handle, offset);
    *offset = file->pointer();
    return MPI_SUCCESS;
}

int File_get_byte_offset(MPI_File handle, MPI_Offset offset, MPI_Offset* displacement) {
    auto const native = [&] {
        return UNISONO_NATIVE(File_get_byte_offset)(handle, offset, displacement);
    };
    auto const file = find(handle);
    if (file == nullptr || displacement == nullptr) return native();
    auto const view = file->view();
    if (!view->usable || (view->tiling.shape->empty() && view->mirrored))
        return pass_on(handle, {}, "MPI_File_get_byte_offset", native);
    if (offset < 0)
        return fail(*file, MPI_ERR_ARG, "MPI_File_get_byte_offset", "the offset is negative");
    if (view->tiling.shape->empty()) {
        *displacement = view->displacement;
        return MPI_SUCCESS;
    }
    auto const first = static_cast<std::uint64_t>(offset);
    if (!within_reach(view->tiling, first, view->etype_bytes, 1))
        return fail(*file, MPI_ERR_ARG, "MPI_File_get_byte_offset", beyond_reach);
    *displacement = offset_of(view->tiling, first * view->etype_bytes);
    return MPI_SUCCESS;
}

}  // namespace unisono::interpose
