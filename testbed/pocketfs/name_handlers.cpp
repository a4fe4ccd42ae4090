#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "pocketfs/handlers.hpp"
#include "pocketfs/open_reply.hpp"
#include "pocketfs/requests.hpp"

namespace unisono::testbed {

Inode* look_up(fuse_req_t request, Inode& parent, char const* name, fuse_entry_param& entry) {
    entry = {};
    entry.attr_timeout = attribute_cache_s(file_system(request));
    entry.entry_timeout = cache_s;
    int const fd = openat(parent.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return nullptr;
    if (fstatat(fd, "", &entry.attr, AT_EMPTY_PATH) != 0) {
        int const error = errno;
        close(fd);
        errno = error;
        return nullptr;
    }
    auto& inode = file_system(request).inodes().remember(fd, entry.attr);
    entry.ino = reinterpret_cast<fuse_ino_t>(&inode);
    return &inode;
}

namespace {

void lookup(fuse_req_t request, fuse_ino_t parent, char const* name) {
    fuse_entry_param entry;
    if (look_up(request, inode_of(request, parent), name, entry) == nullptr)
        fuse_reply_err(request, errno);
    else
        fuse_reply_entry(request, &entry);
}

void forget_one(FileSystem& files, Inode& inode, std::uint64_t lookups) {
    auto const gone = files.inodes().forget(inode, lookups);
    if (!gone) return;
    struct stat attributes {};
    if (fstat(gone->fd, &attributes) == 0 && attributes.st_nlink == 0 &&
        S_ISREG(attributes.st_mode))
        files.remove(*gone);
    close(gone->fd);
}

void forget(fuse_req_t request, fuse_ino_t number, std::uint64_t lookups) {
    if (number != FUSE_ROOT_ID)
        forget_one(file_system(request), inode_of(request, number), lookups);
    fuse_reply_none(request);
}

void forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
    for (std::size_t i = 0; i < count; ++i)
        if (forgets[i].ino != FUSE_ROOT_ID)
            forget_one(file_system(request), inode_of(request, forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(request);
}

// What the daemon makes belongs to the caller; and to the group of a folder that hands its own on.
int give_to_caller(fuse_req_t request, int folder, char const* name) {
    auto const* caller = fuse_req_ctx(request);
    if (geteuid() != 0) return 0;
    struct stat attributes {};
    if (fstat(folder, &attributes) != 0) return -1;
    bool const folders_group = (attributes.st_mode & S_ISGID) != 0;
    return fchownat(folder, name, caller->uid, folders_group ? attributes.st_gid : caller->gid,
                    AT_SYMLINK_NOFOLLOW);
}

// Answers for a name that was just made.
void reply_new(fuse_req_t request, fuse_ino_t parent_number, char const* name) {
    auto& files = file_system(request);
    auto& parent = inode_of(request, parent_number);
    fuse_entry_param entry;
    auto* const child = give_to_caller(request, parent.fd, name) == 0
                            ? look_up(request, parent, name, entry)
                            : nullptr;
    if (child == nullptr) {
        fuse_reply_err(request, errno);
        return;
    }
    int error = 0;
    if (S_ISREG(entry.attr.st_mode) || S_ISDIR(entry.attr.st_mode))
        error = files.initialise(parent, *child, S_ISDIR(entry.attr.st_mode));
    if (error != 0) {
        unlinkat(parent.fd, name, S_ISDIR(entry.attr.st_mode) ? AT_REMOVEDIR : 0);
        forget_one(files, *child, 1);
        fuse_reply_err(request, error);
        return;
    }
    fuse_reply_entry(request, &entry);
}

void make_node(fuse_req_t request, fuse_ino_t parent, char const* name, mode_t mode, dev_t device) {
    if (mknodat(inode_of(request, parent).fd, name, mode, device) != 0)
        fuse_reply_err(request, errno);
    else
        reply_new(request, parent, name);
}

void make_folder(fuse_req_t request, fuse_ino_t parent, char const* name, mode_t mode) {
    if (mkdirat(inode_of(request, parent).fd, name, mode) != 0)
        fuse_reply_err(request, errno);
    else
        reply_new(request, parent, name);
}

void make_symlink(fuse_req_t request, char const* target, fuse_ino_t parent, char const* name) {
    if (symlinkat(target, inode_of(request, parent).fd, name) != 0)
        fuse_reply_err(request, errno);
    else
        reply_new(request, parent, name);
}

void make_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t new_parent, char const* name) {
    auto& inode = inode_of(request, number);
    auto& parent = inode_of(request, new_parent);
    fuse_entry_param entry;
    bool const done =
        linkat(AT_FDCWD, inode.path().c_str(), parent.fd, name, AT_SYMLINK_FOLLOW) == 0 &&
        look_up(request, parent, name, entry) != nullptr;
    if (!done)
        fuse_reply_err(request, errno);
    else
        fuse_reply_entry(request, &entry);
}

void read_link(fuse_req_t request, fuse_ino_t number) {
    char target[4097];
    auto const length = readlinkat(inode_of(request, number).fd, "", target, sizeof target - 1);
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    target[length] = '\0';
    fuse_reply_readlink(request, target);
}

void create(fuse_req_t request, fuse_ino_t parent_number, char const* name, mode_t mode,
            fuse_file_info* info) {
    auto& files = file_system(request);
    auto& parent = inode_of(request, parent_number);
    files.clients().refresh(fuse_req_ctx(request)->pid);
    // Made apart from being opened: a mode without write permission is no obstacle.
    int const made =
        openat(parent.fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, mode);
    if (made < 0 && (errno != EEXIST || (info->flags & O_EXCL) != 0)) {
        fuse_reply_err(request, errno);
        return;
    }
    if (made >= 0) {
        close(made);
        give_to_caller(request, parent.fd, name);
    }
    fuse_entry_param entry;
    auto* const inode = look_up(request, parent, name, entry);
    if (inode == nullptr) {
        fuse_reply_err(request, errno);
        return;
    }
    int error = made >= 0 ? files.initialise(parent, *inode, false) : 0;
    Handle* const handle = error == 0 ? open_handle(files, *inode, info->flags) : nullptr;
    if (handle == nullptr) {
        if (error == 0) error = errno;
        if (made >= 0) unlinkat(parent.fd, name, 0);
        forget_one(files, *inode, 1);
        fuse_reply_err(request, error);
        return;
    }
    reply_create(request, entry, reinterpret_cast<std::uint64_t>(handle));
}

void unlink_name(fuse_req_t request, fuse_ino_t parent, char const* name) {
    reply_result(request, unlinkat(inode_of(request, parent).fd, name, 0));
}

void remove_folder(fuse_req_t request, fuse_ino_t parent, char const* name) {
    reply_result(request, unlinkat(inode_of(request, parent).fd, name, AT_REMOVEDIR));
}

void rename_name(fuse_req_t request, fuse_ino_t parent, char const* name, fuse_ino_t new_parent,
                 char const* new_name, unsigned flags) {
    reply_result(request, renameat2(inode_of(request, parent).fd, name,
                                    inode_of(request, new_parent).fd, new_name, flags));
}

void open_folder(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
    int const fd = openat(inode_of(request, number).fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const folder = fd < 0 ? nullptr : fdopendir(fd);
    if (folder == nullptr) {
        int const error = errno;
        if (fd >= 0) close(fd);
        fuse_reply_err(request, error);
        return;
    }
    info->fh = reinterpret_cast<std::uint64_t>(folder);
    fuse_reply_open(request, info);
}

// The kernel reads one folder handle with one request at a time.
void read_folder(fuse_req_t request, fuse_ino_t /*number*/, std::size_t size, off_t offset,
                 fuse_file_info* info) {
    auto* const folder = from_number<DIR>(info->fh);
    if (telldir(folder) != offset) seekdir(folder, offset);
    std::vector<char> buffer(size);
    std::size_t used = 0;
    for (;;) {
        errno = 0;
        auto const* const entry = readdir(folder);  // NOLINT(concurrency-mt-unsafe)
        if (entry == nullptr) break;
        struct stat attributes {};
        attributes.st_ino = entry->d_ino;
        attributes.st_mode = static_cast<mode_t>(entry->d_type) << 12;
        auto const length = fuse_add_direntry(request, buffer.data() + used, size - used,
                                              entry->d_name, &attributes, entry->d_off);
        if (length > size - used) break;
        used += length;
    }
    fuse_reply_buf(request, buffer.data(), used);
}

void release_folder(fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* info) {
    closedir(from_number<DIR>(info->fh));
    fuse_reply_err(request, 0);
}

void sync_folder(fuse_req_t request, fuse_ino_t /*number*/, int /*data_only*/,
                 fuse_file_info* info) {
    reply_result(request, fsync(dirfd(from_number<DIR>(info->fh))));
}

}  // namespace

void add_name_handlers(fuse_lowlevel_ops& operations) {
    operations.lookup = lookup;
    operations.forget = forget;
    operations.forget_multi = forget_multi;
    operations.mknod = make_node;
    operations.mkdir = make_folder;
    operations.symlink = make_symlink;
    operations.link = make_link;
    operations.readlink = read_link;
    operations.create = create;
    operations.unlink = unlink_name;
    operations.rmdir = remove_folder;
    operations.rename = rename_name;
    operations.opendir = open_folder;
    operations.readdir = read_folder;
    operations.releasedir = release_folder;
    operations.fsyncdir = sync_folder;
}

fuse_lowlevel_ops handlers() {
    fuse_lowlevel_ops operations{};
    add_name_handlers(operations);
    add_data_handlers(operations);
    add_value_handlers(operations);
    return operations;
}

}  // namespace unisono::testbed
