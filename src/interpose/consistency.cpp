#include "interpose/alike.hpp"
#include "interpose/errors.hpp"
#include "interpose/file_calls.hpp"
#include "interpose/native.hpp"
#include "interpose/open_files.hpp"
#include "interpose/pass_on.hpp"
#include "interpose/timed.hpp"

namespace unisono::interpose {

int File_sync(MPI_File handle) {
    auto const file = find(handle);
    if (file == nullptr) return UNISONO_NATIVE(File_sync)(handle);
    TimedCollective const timed{file, FilePhase::sync, unisono_entry_File_sync};
    auto const synced = file->sync();
    file->record([](FileReport& report) { report.recording.add_sync(); });
    auto const result = raise(*file, synced.verdict, "MPI_File_sync");
    // Where the file may not be written the MPI library has a word to say, or none.
    if (!synced.native && !file->read_only()) return result;
    auto const native = UNISONO_NATIVE(File_sync)(handle);
    if (synced.native && native != MPI_SUCCESS) file->durability().note_failed_native_sync();
    return result == MPI_SUCCESS ? native : result;
}

int File_set_atomicity(MPI_File handle, int atomic) {
    auto const file = find(handle);
    TimedCollective const timed{file, FilePhase::other, unisono_entry_File_set_atomicity};
    if (file != nullptr) {
        file->drain();
        if (auto const refused =
                agree_on_argument(*file, atomic != 0, /*refusal=*/0, "MPI_File_set_atomicity", "");
            refused != MPI_SUCCESS)
            return refused;
    }
    auto const result = UNISONO_NATIVE(File_set_atomicity)(handle, atomic);
    if (result != MPI_SUCCESS || file == nullptr) return result;
    Notice notice;
    notice.objection.must_be_native = atomic != 0 && !file->can_lock();
    file->meet(notice);
    if (notice.objection.must_be_native) let_go_of_view(*file);
    file->set_atomic(atomic != 0, !notice.objection.must_be_native);
    return MPI_SUCCESS;
}

}  // namespace unisono::interpose
