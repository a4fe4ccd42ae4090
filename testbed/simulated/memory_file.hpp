#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace unisono::simulated {

/// A file that is in memory only, with a descriptor as any other has.
class MemoryFile {
public:
    explicit MemoryFile(std::vector<std::byte> const& contents = {})
        : descriptor_{memfd_create("unisono", MFD_CLOEXEC)} {
        auto const bytes = static_cast<ssize_t>(contents.size());
        if (descriptor_ < 0 || pwrite(descriptor_, contents.data(), contents.size(), 0) != bytes)
            throw std::runtime_error{"no file in memory"};
    }
    ~MemoryFile() { close(descriptor_); }
    MemoryFile(MemoryFile const&) = delete;
    MemoryFile& operator=(MemoryFile const&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] std::size_t bytes() const {
        return static_cast<std::size_t>(lseek(descriptor_, 0, SEEK_END));
    }
    [[nodiscard]] std::vector<std::byte> contents() const {
        std::vector<std::byte> all(bytes());
        if (pread(descriptor_, all.data(), all.size(), 0) != static_cast<ssize_t>(all.size()))
            throw std::runtime_error{"a file in memory cannot be read"};
        return all;
    }

private:
    int descriptor_;
};

}  // namespace unisono::simulated
