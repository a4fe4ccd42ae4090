#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>
#include <string_view>
#include <utility>

namespace unisono {

/// Where the file behind it is now, whole; empty where the kernel does not say. Cost: a system
/// call.
inline std::string path_of(int descriptor) {
    std::array<char, PATH_MAX> path;  // the kernel has no longer ones
    auto const bytes =
        readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path.data(), path.size());
    return {path.data(), static_cast<std::size_t>(std::max(bytes, ssize_t{0}))};
}

/// Writes all of the text, in one call unless that cannot write it all: the next one says why.
/// Returns 0 or errno.
inline int write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        auto const written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? errno : ENOSPC;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

/// Owns a file descriptor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }

    [[nodiscard]] int get() const { return fd_; }
    /// It is the caller's from now on.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_ = -1;
};

}  // namespace unisono
