#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "pocketfs/handlers.hpp"
#include "pocketfs/open_reply.hpp"
#include "pocketfs/owner_rights.hpp"
#include "pocketfs/requests.hpp"

namespace unisono::testbed {

namespace {

int open_file_of(FileSystem& files, Inode& inode, int flags) {
    // The kernel appends; the backing file is for a cache's sake not opened for direct access; and
    // each write says whether it is to be on the disk.
    int const backing_flags =
        (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_DIRECT | O_SYNC)) | O_CLOEXEC;
    auto const path = inode.path();
    auto const open_it = [&] { return open(path.c_str(), backing_flags); };
    if ((flags & O_TRUNC) == 0) return with_owner_rights(path, open_it);
    int fd = -1;
    errno = files.change(inode, [&] {
        fd = with_owner_rights(path, open_it);
        return fd < 0 ? errno : 0;
    });
    if (fd >= 0) files.trim(inode, 0);
    return fd;
}

}  // namespace

Handle* open_handle(FileSystem& files, Inode& inode, int flags) {
    int const fd = open_file_of(files, inode, flags);
    if (fd < 0) return nullptr;
    auto handle = std::make_unique<Handle>();
    handle->fd = fd;
    handle->writable = (flags & O_ACCMODE) != O_RDONLY;
    return handle.release();
}

namespace {

void open_file(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
    auto& files = file_system(request);
    auto& inode = inode_of(request, number);
    files.clients().refresh(fuse_req_ctx(request)->pid);
    auto* const handle = open_handle(files, inode, info->flags);
    if (handle == nullptr) {
        fuse_reply_err(request, errno);
        return;
    }
    reply_open(request, reinterpret_cast<std::uint64_t>(handle));
}

void release(fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* info) {
    std::unique_ptr<Handle> const handle(&handle_of(info));
    close(handle->fd);
    fuse_reply_err(request, 0);
}

// Answers at the modelled time; at once without emulation, and when no disk is concerned.
void answer(fuse_req_t request, std::vector<Piece> pieces, Emulator::Done const& reply) {
    auto& files = file_system(request);
    if (files.emulator() == nullptr || pieces.empty()) {
        reply(0);
        return;
    }
    auto const client = files.clients().find(fuse_req_ctx(request)->pid);
    files.emulator()->submit(std::move(pieces), client, reply);
}

int sync_backing(int fd, bool data_only) {
    return (data_only ? fdatasync(fd) : fsync(fd)) == 0 ? 0 : errno;
}

// The same for a write that is over when the disks have it: each server that got some flushes.
void answer_when_on_disk(fuse_req_t request, std::vector<Piece> pieces,
                         Emulator::Done const& reply) {
    auto& files = file_system(request);
    auto* const emulator = files.emulator();
    auto const client = files.clients().find(fuse_req_ctx(request)->pid);
    std::vector<Piece> flushes;
    for (auto const& piece : pieces)
        if (flushes.empty() || flushes.back().server != piece.server)
            flushes.push_back(
                {piece.server, {.operation = Operation::flush, .file = piece.request.file}});
    answer(request, std::move(pieces), [=](int error) {
        if (error != 0 || flushes.empty())
            reply(error);
        else
            emulator->submit(flushes, client, reply);
    });
}

void read_through(fuse_req_t request, int fd, std::size_t size, off_t offset) {
    fuse_bufvec buffer = FUSE_BUFVEC_INIT(size);
    buffer.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
    buffer.buf[0].fd = fd;
    buffer.buf[0].pos = offset;
    fuse_reply_data(request, &buffer, FUSE_BUF_SPLICE_MOVE);
}

// The bytes are taken now and handed out at the modelled time: what is written meanwhile was
// written at the same time as this read, and may be seen or not.
void read_file(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset,
               fuse_file_info* info) {
    auto& files = file_system(request);
    auto& inode = inode_of(request, number);
    auto const begin = static_cast<std::uint64_t>(offset);
    int const fd = handle_of(info).fd;
    if (files.any_faults()) {
        auto const end = std::min<std::uint64_t>(begin + size, size_of(fd));
        if (files.faults().is_bad(inode.number, begin, end)) {
            fuse_reply_err(request, EIO);
            return;
        }
    }
    if (files.emulator() == nullptr) {
        read_through(request, fd, size, offset);
        return;
    }
    std::shared_ptr<char[]> const bytes(new char[size]);
    auto const length = pread(fd, bytes.get(), size, offset);
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    auto const got = static_cast<std::uint64_t>(length);
    answer(request, files.pieces(inode, Operation::read, begin, got, size_of(fd)),
           [request, bytes, got](int error) {
               if (error != 0)
                   fuse_reply_err(request, error);
               else
                   fuse_reply_buf(request, bytes.get(), got);
           });
}

void write_file(fuse_req_t request, fuse_ino_t number, fuse_bufvec* from, off_t offset,
                fuse_file_info* info) {
    auto& files = file_system(request);
    auto& inode = inode_of(request, number);
    // The kernel does not know how short a power cut has made the file.
    if (files.options().power_cuts && (info->flags & O_APPEND) != 0)
        offset = static_cast<off_t>(size_of(handle_of(info).fd));
    auto const begin = static_cast<std::uint64_t>(offset);
    std::uint64_t size = fuse_buf_size(from);
    if (files.any_faults()) {
        auto const faults = files.faults();
        auto const room = faults.room(begin, size, size_of(handle_of(info).fd));
        int const error = faults.is_bad(inode.number, begin, begin + size) ? EIO
                          : room == 0 && size > 0                          ? ENOSPC
                                                                           : 0;
        if (error != 0) {
            fuse_reply_err(request, error);
            return;
        }
        size = room;
    }
    if (int const error = files.prepare_write(inode, begin, size)) {
        fuse_reply_err(request, error);
        return;
    }
    fuse_bufvec to = FUSE_BUFVEC_INIT(size);
    to.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
    to.buf[0].fd = handle_of(info).fd;
    to.buf[0].pos = offset;
    ssize_t written = 0;
    int const error = files.change(inode, [&] {
        written = fuse_buf_copy(&to, from, static_cast<fuse_buf_copy_flags>(0));
        return written < 0 ? static_cast<int>(-written) : 0;
    });
    if (error != 0) {
        fuse_reply_err(request, error);
        return;
    }
    auto const length = static_cast<std::uint64_t>(written);
    auto const reply = [request, length](int error) {
        if (error != 0)
            fuse_reply_err(request, error);
        else
            fuse_reply_write(request, length);
    };
    // Of a descriptor, or of a single call: pwritev2 with RWF_DSYNC.
    bool const durable = (info->flags & O_DSYNC) != 0;
    if (durable) files.synced(inode);
    int const fd = handle_of(info).fd;
    if (files.emulator() == nullptr) {
        reply(durable ? sync_backing(fd, (info->flags & O_SYNC) != O_SYNC) : 0);
        return;
    }
    auto pieces = files.pieces(inode, Operation::write, begin, length, size_of(fd));
    if (durable)
        answer_when_on_disk(request, std::move(pieces), reply);
    else
        answer(request, std::move(pieces), reply);
}

// With emulation the medium is the modelled one: the real one's time is nobody's concern. A write
// that comes while the disks are at it is not a part of this.
void sync_file(fuse_req_t request, fuse_ino_t number, int data_only, fuse_file_info* info) {
    auto& files = file_system(request);
    auto& inode = inode_of(request, number);
    files.synced(inode);
    if (files.emulator() == nullptr) {
        fuse_reply_err(request, sync_backing(handle_of(info).fd, data_only != 0));
        return;
    }
    answer(request, files.flushes(inode), [request](int error) { fuse_reply_err(request, error); });
}

void allocate(fuse_req_t request, fuse_ino_t number, int mode, off_t offset, off_t length,
              fuse_file_info* info) {
    auto& files = file_system(request);
    auto& inode = inode_of(request, number);
    auto const begin = static_cast<std::uint64_t>(offset);
    auto const size = static_cast<std::uint64_t>(length);
    if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0) {
        fuse_reply_err(request, EOPNOTSUPP);
        return;
    }
    if (files.any_faults() &&
        files.faults().room(begin, size, size_of(handle_of(info).fd)) < size) {
        fuse_reply_err(request, ENOSPC);
        return;
    }
    if (int const error = files.prepare_write(inode, begin, size)) {
        fuse_reply_err(request, error);
        return;
    }
    fuse_reply_err(request, files.change(inode, [&] {
        return fallocate(handle_of(info).fd, mode, offset, length) == 0 ? 0 : errno;
    }));
}

void find_data(fuse_req_t request, fuse_ino_t /*number*/, off_t offset, int whence,
               fuse_file_info* info) {
    auto const result = lseek(handle_of(info).fd, offset, whence);
    if (result < 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_lseek(request, result);
}

void file_system_size(fuse_req_t request, fuse_ino_t number) {
    auto& files = file_system(request);
    struct statvfs values {};
    if (fstatvfs(inode_of(request, number).fd, &values) != 0) {
        fuse_reply_err(request, errno);
        return;
    }
    // What both the disks and the backing folder have.
    auto const unit = values.f_frsize;
    values.f_blocks = std::min<fsblkcnt_t>(values.f_blocks, files.capacity_bytes() / unit);
    values.f_bfree = std::min<fsblkcnt_t>(values.f_bfree, files.free_bytes() / unit);
    values.f_bavail = std::min(values.f_bavail, values.f_bfree);
    fuse_reply_statfs(request, &values);
}

}  // namespace

void add_data_handlers(fuse_lowlevel_ops& operations) {
    operations.open = open_file;
    operations.release = release;
    operations.read = read_file;
    operations.write_buf = write_file;
    operations.fsync = sync_file;
    operations.fallocate = allocate;
    operations.lseek = find_data;
    operations.statfs = file_system_size;
}

}  // namespace unisono::testbed
