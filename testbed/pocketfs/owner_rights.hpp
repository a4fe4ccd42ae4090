#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace unisono::testbed {

/// Makes a system call on a backing file. A daemon that is not root's is refused what the file's
/// mode does not give its owner, although the kernel has checked the program's rights, which may
/// be older than the mode: then the mode gives it for a moment.
/// @return what `call` returns; errno is the call's
template <class Call>
auto with_owner_rights(std::string const& path, Call const& call) {
    auto const result = call();
    if (result >= 0 || errno != EACCES || geteuid() == 0) return result;
    struct stat attributes {};
    bool const given = stat(path.c_str(), &attributes) == 0 &&
                       chmod(path.c_str(), attributes.st_mode | S_IRUSR | S_IWUSR) == 0;
    auto const again = call();
    int const error = errno;
    if (given) chmod(path.c_str(), attributes.st_mode);
    errno = error;
    return again;
}

}  // namespace unisono::testbed
