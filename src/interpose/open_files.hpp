#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "interpose/file.hpp"

namespace unisono::interpose {

/// Remembers, finds and forgets files by handle; a handle that is unknown belongs to the MPI
/// library alone. Thread-safe, for threads that may call MPI.
void remember(std::shared_ptr<File> file);
std::shared_ptr<File> find(MPI_File handle);
std::shared_ptr<File> forget(MPI_File handle);
/// Calls use(other) for this rank's other handles of the same file. Nobody opens or closes any
/// meanwhile: those of other communicators are other threads', and end with their last owner. Cost:
/// none where there never was one.
void for_opened_otherwise(File const& file, std::function<void(File const&)> const& use);
/// All that are open, in the order in which they were opened.
std::vector<std::shared_ptr<File>> open_files();
/// Of these the ones that were opened on it: those of other communicators may be other threads', to
/// close, and end with their last owner.
std::vector<std::shared_ptr<File>> open_files_on(MPI_Comm comm);

}  // namespace unisono::interpose
