#include "pocketfs/open_reply.hpp"

#include <linux/fuse.h>

#include <cmath>

namespace unisono::testbed {

namespace {

// FOPEN_PARALLEL_DIRECT_WRITES, which headers have since Linux 6.2.
constexpr std::uint32_t parallel_direct_writes = 1U << 6;

fuse_open_out open_out(std::uint64_t handle) {
    fuse_open_out out{};
    out.fh = handle;
    out.open_flags = FOPEN_DIRECT_IO | parallel_direct_writes;
    return out;
}

fuse_attr attributes_out(struct stat const& from) {
    fuse_attr to{};
    to.ino = from.st_ino;
    to.size = static_cast<std::uint64_t>(from.st_size);
    to.blocks = static_cast<std::uint64_t>(from.st_blocks);
    to.atime = static_cast<std::uint64_t>(from.st_atim.tv_sec);
    to.mtime = static_cast<std::uint64_t>(from.st_mtim.tv_sec);
    to.ctime = static_cast<std::uint64_t>(from.st_ctim.tv_sec);
    to.atimensec = static_cast<std::uint32_t>(from.st_atim.tv_nsec);
    to.mtimensec = static_cast<std::uint32_t>(from.st_mtim.tv_nsec);
    to.ctimensec = static_cast<std::uint32_t>(from.st_ctim.tv_nsec);
    to.mode = from.st_mode;
    to.nlink = static_cast<std::uint32_t>(from.st_nlink);
    to.uid = from.st_uid;
    to.gid = from.st_gid;
    to.rdev = static_cast<std::uint32_t>(from.st_rdev);
    to.blksize = static_cast<std::uint32_t>(from.st_blksize);
    return to;
}

void set_timeout(double timeout_s, std::uint64_t& seconds, std::uint32_t& nanoseconds) {
    seconds = static_cast<std::uint64_t>(timeout_s);
    nanoseconds = static_cast<std::uint32_t>((timeout_s - std::floor(timeout_s)) * 1e9);
}

}  // namespace

void reply_open(fuse_req_t request, std::uint64_t handle) {
    auto const out = open_out(handle);
    fuse_reply_buf(request, reinterpret_cast<char const*>(&out), sizeof out);
}

void reply_create(fuse_req_t request, fuse_entry_param const& entry, std::uint64_t handle) {
    struct {
        fuse_entry_out entry;
        fuse_open_out open;
    } out{};
    out.entry.nodeid = entry.ino;
    out.entry.generation = entry.generation;
    set_timeout(entry.entry_timeout, out.entry.entry_valid, out.entry.entry_valid_nsec);
    set_timeout(entry.attr_timeout, out.entry.attr_valid, out.entry.attr_valid_nsec);
    out.entry.attr = attributes_out(entry.attr);
    out.open = open_out(handle);
    fuse_reply_buf(request, reinterpret_cast<char const*>(&out), sizeof out);
}

}  // namespace unisono::testbed
