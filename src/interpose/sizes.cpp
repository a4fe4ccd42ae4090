#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "interpose/alike.hpp"
#include "interpose/errors.hpp"
#include "interpose/file_calls.hpp"
#include "interpose/native.hpp"
#include "interpose/open_files.hpp"
#include "interpose/timed.hpp"
#include "support/signals_blocked.hpp"

namespace unisono::interpose {

namespace {

constexpr auto negative = "the size is negative";
constexpr auto not_writable = "the file is open for reading only";

}  // namespace

int File_set_size(MPI_File handle, MPI_Offset size) {
    auto const file = find(handle);
    TimedCollective const timed{file, FilePhase::other, unisono_entry_File_set_size};
    if (file != nullptr) {
        file->drain();
        if (auto const refused = agree_on_argument(*file, size, size < 0 ? MPI_ERR_ARG : 0,
                                                   "MPI_File_set_size", negative);
            refused != MPI_SUCCESS)
            return refused;
        file->durability().note_written();
    }
    auto const result = UNISONO_NATIVE(File_set_size)(handle, size);
    // In Intel MPI each rank cuts the file by itself, and the calls that follow may meet nobody.
    Notice done;
    if (file != nullptr) file->meet(done);
    return result;
}

int File_get_size(MPI_File handle, MPI_Offset* size) {
    auto const file = find(handle);
    auto const cache = file == nullptr ? nullptr : file->cache();
    IoResult settled;
    if (cache != nullptr) {
        auto const held = file->hold();
        settled = cache->settle_size();
    }
    if (settled.error)
        return raise(*file, Verdict{settled, file->team().rank()}, "MPI_File_get_size");
    return UNISONO_NATIVE(File_get_size)(handle, size);
}

namespace {

// On tmpfs a signal may undo what a call has done so far: in parts then, and between them signals.
int allocate(int descriptor, MPI_Offset size) {
    constexpr MPI_Offset part = 16 << 20;
    auto code = posix_fallocate(descriptor, 0, size);
    if (code == ENODEV) return 0;  // a device, such as /dev/null, has all the room that it has
    if (code != EINTR) return code;
    for (MPI_Offset at = 0; at < size; at += part) {
        SignalsBlocked const blocked;
        do code = posix_fallocate(descriptor, at, std::min(part, size - at));
        while (code == EINTR);
        if (code != 0) return code;
    }
    return 0;
}

}  // namespace

// Open MPI 4.1.4 fills the new part with what is in its memory, and fails at random when the file
// is longer already.
int File_preallocate(MPI_File handle, MPI_Offset size) {
    auto const file = find(handle);
    TimedCollective const timed{file, FilePhase::other, unisono_entry_File_preallocate};
    if (file == nullptr) return UNISONO_NATIVE(File_preallocate)(handle, size);
    file->drain();
    std::array const arguments{static_cast<std::uint64_t>(size)};
    // ROMIO refuses it on one rank only.
    auto const read_only = file->read_only();
    auto all = arguments_with(*file, arguments,
                              read_only  ? MPI_ERR_READ_ONLY
                              : size < 0 ? MPI_ERR_ARG
                                         : 0);
    all.objection.must_be_native = file->kernel_descriptor() < 0;
    file->meet(all);
    if (auto const refused = refuse_unless_alike(*file, all, "MPI_File_preallocate",
                                                 read_only ? not_writable : negative);
        refused != MPI_SUCCESS)
        return refused;
    file->durability().note_written();
    if (all.objection.must_be_native) return UNISONO_NATIVE(File_preallocate)(handle, size);
    IoResult result;
    if (file->context().rank() == 0 && size > 0)
        result.error = {allocate(file->storage().descriptor, size), "posix_fallocate",
                        static_cast<std::uint64_t>(size)};
    Verdict verdict{result, static_cast<std::uint32_t>(file->context().rank())};
    file->meet(verdict);
    return raise(*file, verdict, "MPI_File_preallocate");
}

}  // namespace unisono::interpose
