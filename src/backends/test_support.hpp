#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "unisono/backend.hpp"

namespace unisono {

inline std::ostream& operator<<(std::ostream& out, Extent extent) {
    return out << '[' << extent.begin << ", " << extent.end << ')';
}

/// A new empty file, open for reading and writing, removed at the end.
class TemporaryFile {
public:
    explicit TemporaryFile(std::string const& folder, int open_flags = 0);
    TemporaryFile(TemporaryFile const&) = delete;
    TemporaryFile& operator=(TemporaryFile const&) = delete;
    ~TemporaryFile();

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] std::string const& path() const { return path_; }
    [[nodiscard]] std::uint64_t size() const;
    [[nodiscard]] std::vector<std::byte> contents() const;
    void fill(std::vector<std::byte> const& bytes) const;

private:
    std::string path_;
    int fd_ = -1;
};

/// The temporary folder and, where it exists, a file system in memory.
std::vector<std::string> test_folders();

/// Random bytes, the same for the same seed.
std::vector<std::byte> pattern(std::uint64_t bytes, unsigned seed);

/// UNISONO_TEST_SEED when it is set, so that a failure can be repeated; else the usual ones.
std::vector<unsigned> test_seeds();

/// Lowers the limit on the size of files, with SIGXFSZ ignored, until destroyed.
class FileSizeLimit {
public:
    explicit FileSizeLimit(std::uint64_t bytes);
    FileSizeLimit(FileSizeLimit const&) = delete;
    FileSizeLimit& operator=(FileSizeLimit const&) = delete;
    ~FileSizeLimit();

private:
    std::uint64_t limit_before_;
    void (*handler_before_)(int);
};

/// A file system in memory that holds `bytes`, mounted on a new folder. folder() is empty where
/// that is not allowed.
class SmallFileSystem {
public:
    explicit SmallFileSystem(std::uint64_t bytes);
    SmallFileSystem(SmallFileSystem const&) = delete;
    SmallFileSystem& operator=(SmallFileSystem const&) = delete;
    ~SmallFileSystem();

    [[nodiscard]] std::string const& folder() const { return folder_; }

private:
    std::string folder_;
};

/// Makes a system call fail with EPERM, as a container's profile would: for this process, for ever.
void forbid_system_call(unsigned number);

}  // namespace unisono
