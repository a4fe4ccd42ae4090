#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>

#include "pocketfs/handlers.hpp"
#include "pocketfs/requests.hpp"

namespace unisono::testbed {

namespace {

void reply_attributes(fuse_req_t request, Inode& inode) {
    struct stat attributes {};
    if (fstatat(inode.fd, "", &attributes, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_attr(request, &attributes, attribute_cache_s(file_system(request)));
}

void get_attributes(fuse_req_t request, fuse_ino_t number, fuse_file_info* /*info*/) {
    reply_attributes(request, inode_of(request, number));
}

int set_size(fuse_req_t request, Inode& inode, off_t size, fuse_file_info const* info) {
    auto& files = file_system(request);
    if (files.any_faults()) {
        auto const wanted = static_cast<std::uint64_t>(size);
        if (files.faults().room(0, wanted, size_of(inode.fd)) < wanted) return ENOSPC;
    }
    int const error = files.change(inode, [&] {
        int const result = info != nullptr ? ftruncate(handle_of(info).fd, size)
                                           : truncate(inode.path().c_str(), size);
        return result == 0 ? 0 : errno;
    });
    if (error != 0) return error;
    files.trim(inode, static_cast<std::uint64_t>(size));
    return 0;
}

int set_times(Inode& inode, struct stat const& wanted, int which) {
    timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
    if ((which & FUSE_SET_ATTR_ATIME_NOW) != 0)
        times[0].tv_nsec = UTIME_NOW;
    else if ((which & FUSE_SET_ATTR_ATIME) != 0)
        times[0] = wanted.st_atim;
    if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0)
        times[1].tv_nsec = UTIME_NOW;
    else if ((which & FUSE_SET_ATTR_MTIME) != 0)
        times[1] = wanted.st_mtim;
    return utimensat(AT_FDCWD, inode.path().c_str(), times, 0) == 0 ? 0 : errno;
}

int set_owner(Inode& inode, struct stat const& wanted, int which) {
    auto const user = (which & FUSE_SET_ATTR_UID) != 0 ? wanted.st_uid : static_cast<uid_t>(-1);
    auto const group = (which & FUSE_SET_ATTR_GID) != 0 ? wanted.st_gid : static_cast<gid_t>(-1);
    return fchownat(inode.fd, "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0 ? 0
                                                                                         : errno;
}

void set_attributes(fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
                    fuse_file_info* info) {
    auto& inode = inode_of(request, number);
    int error = 0;
    if ((which & FUSE_SET_ATTR_MODE) != 0)
        error = chmod(inode.path().c_str(), wanted->st_mode) == 0 ? 0 : errno;
    if (error == 0 && (which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0)
        error = set_owner(inode, *wanted, which);
    if (error == 0 && (which & FUSE_SET_ATTR_SIZE) != 0)
        error = set_size(request, inode, wanted->st_size, info);
    constexpr int any_time = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
                             FUSE_SET_ATTR_MTIME_NOW;
    if (error == 0 && (which & any_time) != 0) error = set_times(inode, *wanted, which);
    if (error != 0)
        fuse_reply_err(request, error);
    else
        reply_attributes(request, inode);
}

void reply_value(fuse_req_t request, std::string const& value, std::size_t size) {
    if (size == 0)
        fuse_reply_xattr(request, value.size());
    else if (value.size() > size)
        fuse_reply_err(request, ERANGE);
    else
        fuse_reply_buf(request, value.data(), value.size());
}

bool may_use(fuse_req_t request, char const* name) {
    auto const user = fuse_req_ctx(request)->uid;
    return user == 0 || user == geteuid() || !FileSystem::is_control_attribute(name);
}

void get_value(fuse_req_t request, fuse_ino_t number, char const* name, std::size_t size) {
    auto& inode = inode_of(request, number);
    if (!may_use(request, name)) {
        fuse_reply_err(request, EPERM);
        return;
    }
    std::string value;
    if (FileSystem::is_own_attribute(name)) {
        if (int const error = file_system(request).get_attribute(inode, name, value))
            fuse_reply_err(request, error);
        else
            reply_value(request, value, size);
        return;
    }
    value.resize(65536);
    auto const length = getxattr(inode.path().c_str(), name, value.data(), value.size());
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    value.resize(static_cast<std::size_t>(length));
    reply_value(request, value, size);
}

void set_value(fuse_req_t request, fuse_ino_t number, char const* name, char const* value,
               std::size_t size, int flags) {
    auto& inode = inode_of(request, number);
    if (!may_use(request, name))
        fuse_reply_err(request, EPERM);
    else if (FileSystem::is_own_attribute(name))
        fuse_reply_err(request,
                       file_system(request).set_attribute(inode, name, std::string(value, size)));
    else
        reply_result(request, setxattr(inode.path().c_str(), name, value, size, flags));
}

void remove_value(fuse_req_t request, fuse_ino_t number, char const* name) {
    if (FileSystem::is_own_attribute(name))
        fuse_reply_err(request, ENOTSUP);
    else
        reply_result(request, removexattr(inode_of(request, number).path().c_str(), name));
}

// Ours are not listed, so that copies of a file do not carry them along.
void list_values(fuse_req_t request, fuse_ino_t number, std::size_t size) {
    std::string all(65536, '\0');
    auto const length = listxattr(inode_of(request, number).path().c_str(), all.data(), all.size());
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    std::string shown;
    for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
        std::string const name = all.c_str() + at;
        if (!FileSystem::is_own_attribute(name)) shown.append(name).push_back('\0');
        at += name.size() + 1;
    }
    reply_value(request, shown, size);
}

}  // namespace

void add_value_handlers(fuse_lowlevel_ops& operations) {
    operations.getattr = get_attributes;
    operations.setattr = set_attributes;
    operations.getxattr = get_value;
    operations.setxattr = set_value;
    operations.removexattr = remove_value;
    operations.listxattr = list_values;
}

}  // namespace unisono::testbed
