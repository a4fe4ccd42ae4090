#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <cerrno>

#include "pocketfs/file_system.hpp"

namespace unisono::testbed {

/// How long the kernel may keep names and attributes: nobody else changes them.
inline constexpr double cache_s = 60;

/// The same for attributes alone: a power cut changes sizes.
inline double attribute_cache_s(FileSystem const& files) {
    return files.options().power_cuts ? 0 : cache_s;
}

/// An open file.
struct Handle {
    int fd = -1;
    bool writable = false;
};

inline FileSystem& file_system(fuse_req_t request) {
    return *static_cast<FileSystem*>(fuse_req_userdata(request));
}

/// FUSE hands our pointers back as numbers.
template <class Object>
Object* from_number(std::uint64_t number) {
    return reinterpret_cast<Object*>(number);  // NOLINT(performance-no-int-to-ptr)
}

inline Inode& inode_of(fuse_req_t request, fuse_ino_t number) {
    if (number == FUSE_ROOT_ID) return file_system(request).root();
    return *from_number<Inode>(number);
}

inline Handle& handle_of(fuse_file_info const* info) { return *from_number<Handle>(info->fh); }

/// Answers with errno if a system call said no, else with success.
inline void reply_result(fuse_req_t request, int result) {
    fuse_reply_err(request, result == 0 ? 0 : errno);
}

/// Looks a name up and counts that the kernel is told of it. Null and errno on failure.
Inode* look_up(fuse_req_t request, Inode& parent, char const* name, fuse_entry_param& entry);

/// Opens the file of an inode, and empties it if the flags say so. Null and errno on failure.
Handle* open_handle(FileSystem& files, Inode& inode, int flags);

}  // namespace unisono::testbed
