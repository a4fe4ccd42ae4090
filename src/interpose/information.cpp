#include "interpose/file_calls.hpp"
#include "interpose/hints.hpp"
#include "interpose/native.hpp"
#include "interpose/open_files.hpp"
#include "interpose/timed.hpp"

namespace unisono::interpose {

int File_get_info(MPI_File handle, MPI_Info* info) {
    auto const result = UNISONO_NATIVE(File_get_info)(handle, info);
    auto const file = find(handle);
    if (result != MPI_SUCCESS || file == nullptr) return result;
    // Some libraries echo hints that they do not know.
    for (auto const& [key, value] : pairs_of(*info))
        if (key.starts_with("unisono_")) PMPI_Info_delete(*info, key.c_str());
    auto const held = file->hold();
    for (auto const& [key, value] : effective_hints(file->options())) set_in(*info, key, value);
    return result;
}

int File_set_info(MPI_File handle, MPI_Info info) {
    auto const file = find(handle);
    if (file == nullptr) return UNISONO_NATIVE(File_set_info)(handle, info);
    TimedCollective const timed{file, FilePhase::other, unisono_entry_File_set_info};
    auto const result = UNISONO_NATIVE(File_set_info)(handle, LaterHints{*file, info}.info());
    if (result == MPI_SUCCESS) {
        keep_hints(*file, info);
        take_hints(*file);
    }
    return result;
}

}  // namespace unisono::interpose
