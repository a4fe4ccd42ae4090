#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unisono/extent.hpp"
#include "unisono/result.hpp"

namespace unisono {

/// A shared mapping of the pages around one extent of a file. Not thread-safe while mapping or
/// populating; copying to and from different bytes may be done by many threads.
///
/// Use: map(), populate() every byte that will be touched, copy, destroy.
///
/// Touching a byte of a mapping can raise SIGBUS, and no handler is ever installed against it.
/// Populating first turns the foreseeable causes into an Error: a full file system or quota, a bad
/// sector, a hole that cannot be filled. What is left, in the short time between populate() and
/// the copy:
///   - somebody truncates the file below the extent, or punches a hole on a full file system
///     (in MPI: a program that resizes a file while it is accessed, which is erroneous);
///   - the kernel drops a populated page for lack of memory and cannot read it again, or the file
///     system shuts down after an error of its device;
///   - on a copy-on-write file system the page is written back, so that the next store needs new
///     space. Do not map those for writing.
class FileMapping {
public:
    FileMapping() = default;
    FileMapping(FileMapping&& other) noexcept;
    FileMapping& operator=(FileMapping&& other) noexcept;
    ~FileMapping();

    /// Maps the pages that hold `extent` (not empty), for reading, or for both when writing, and
    /// forgets the mapping before. `fd` may be closed afterwards.
    /// Errors: EINVAL when the extent ends beyond the end of the file; those of mmap, e.g. EACCES
    /// when `fd` is not open for reading (and for writing, to write). Nothing is mapped then.
    [[nodiscard]] Error map(int fd, Extent extent, Direction direction);

    /// Brings the pages that hold the `touched` extents (ascending, inside the mapped one) into
    /// memory and, for writing, gets space for them. When reading, pages between two extents that
    /// are close to each other are populated along: that is cheaper than one more system call. No
    /// byte of the file changes, but reading a hole of tmpfs takes memory.
    /// Errors: EFAULT when a page cannot be had (the kernel does not say why: repeat the access
    /// with a system call to learn the reason), ENOMEM, EHWPOISON; EINVAL before Linux 5.14.
    /// Cost: one system call per group of extents.
    [[nodiscard]] Error populate(std::span<Extent const> touched, Direction direction);

    /// Where the byte at file offset `offset` is; the offset must be inside the mapped extent.
    [[nodiscard]] std::byte* at(std::uint64_t offset) const {
        assert(offset >= begin_ && offset - begin_ < bytes_);
        return base_ + (offset - begin_);
    }

    /// The mapped bytes, whole pages: the last one may reach beyond the end of the file.
    [[nodiscard]] Extent extent() const { return {begin_, begin_ + bytes_}; }

private:
    void unmap();
    [[nodiscard]] Error populate_pages(Extent pages, Direction direction);

    std::byte* base_ = nullptr;
    std::uint64_t begin_ = 0;  // file offset of base_
    std::uint64_t bytes_ = 0;
};

/// Size of a page of memory, in bytes.
std::uint64_t page_bytes();

/// Gaps of at most this many bytes are populated together with what surrounds them.
std::uint64_t populate_gap_bytes(Direction direction);

}  // namespace unisono
