#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

namespace unisono {

/// Where the file behind it is now, whole; empty where the kernel does not say. Cost: a system
/// call.
inline std::filesystem::path path_of(int descriptor) {
    std::error_code unreadable;
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), unreadable);
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
