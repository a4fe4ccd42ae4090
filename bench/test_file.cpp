#include "test_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace bench {
namespace {

constexpr std::uint64_t chunk_bytes = 1u << 20;

[[noreturn]] void fail(char const* call) {
    throw std::system_error(errno, std::generic_category(), call);
}

/// Calls visit(offset, bytes, covered) for the runs of `part`.
template <typename Visit>
void for_each_stretch(Piece part, Comb coverage, Visit visit) {
    std::uint64_t const end = part.offset + part.bytes;
    for (std::uint64_t at = part.offset; at < end;) {
        std::uint64_t const period_begin = coverage.dense() ? 0 : at - at % coverage.stride_bytes;
        std::uint64_t const covered_end =
            coverage.dense() ? end : period_begin + coverage.piece_bytes;
        bool const covered = at < covered_end;
        std::uint64_t const stop =
            std::min(end, covered ? covered_end : period_begin + coverage.stride_bytes);
        visit(at, stop - at, covered);
        at = stop;
    }
}

/// Cuts `part` into chunks that a small buffer holds.
template <typename Visit>
void for_each_chunk(Piece part, Visit visit) {
    for (std::uint64_t done = 0; done < part.bytes; done += chunk_bytes)
        visit(Piece{part.offset + done, std::min(chunk_bytes, part.bytes - done)});
}

// As in linux/mman.h of Linux 6.5, which Debian 12 does not have.
constexpr long cachestat_call = 451;
struct CacheRange {
    std::uint64_t offset, bytes;  // 0 bytes: to the end
};
struct CachedPages {
    std::uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
};

std::uint64_t unwritten_bytes(int descriptor) {
    CacheRange const whole{};
    CachedPages pages{};
    if (::syscall(cachestat_call, descriptor, &whole, &pages, 0) != 0) return 0;
    return (pages.dirty + pages.in_writeback) * static_cast<std::uint64_t>(::getpagesize());
}

std::uint64_t count_other_than_zero(std::span<std::byte const> bytes) {
    return bytes.size() - std::count(bytes.begin(), bytes.end(), std::byte{0});
}

}  // namespace

TestFile::TestFile(std::string const& path)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail("open");
}

TestFile::~TestFile() { ::close(descriptor_); }

std::uint64_t TestFile::size_bytes() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail("fstat");
    return static_cast<std::uint64_t>(status.st_size);
}

void TestFile::write(std::span<std::byte const> bytes, std::uint64_t offset) const {
    while (!bytes.empty()) {
        ssize_t const written =
            ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) fail("pwrite");
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
    }
}

std::size_t TestFile::read(std::span<std::byte> bytes, std::uint64_t offset) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
        ssize_t const got = ::pread(descriptor_, bytes.data() + done, bytes.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail("pread");
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

void TestFile::sync() const {
    if (::fsync(descriptor_) != 0) fail("fsync");
}

std::uint64_t TestFile::sync_the_rest() const {
    auto const before = unwritten_bytes(descriptor_);
    sync();
    return before - std::min(before, unwritten_bytes(descriptor_));
}

void TestFile::flip_byte(std::uint64_t offset) const {
    std::byte byte{};
    read({&byte, 1}, offset);
    byte = ~byte;
    write({&byte, 1}, offset);
}

void TestFile::fill(Piece part, Comb coverage, Salt salt) const {
    std::vector<std::byte> buffer(std::min(chunk_bytes, part.bytes));
    for_each_chunk(part, [&](Piece chunk) {
        for_each_stretch(chunk, coverage, [&](std::uint64_t at, std::uint64_t bytes, bool covered) {
            fill_contents(std::span{buffer}.subspan(at - chunk.offset, bytes), at,
                          covered ? salt : Salt::earlier);
        });
        write(std::span{buffer}.first(chunk.bytes), chunk.offset);
    });
}

void TestFile::fill_leaving_holes(Piece part, Comb coverage, Salt salt) const {
    for_each_stretch(part, coverage, [&](std::uint64_t at, std::uint64_t bytes, bool covered) {
        if (covered) fill({at, bytes}, Comb{}, salt);
    });
}

TestFile::Finding TestFile::verify(Piece part, Comb coverage, bool fresh) const {
    Finding finding;
    std::vector<std::byte> buffer(chunk_bytes);
    for_each_chunk(part, [&](Piece chunk) {
        std::size_t const got = read(std::span{buffer}.first(chunk.bytes), chunk.offset);
        if (got < chunk.bytes && !finding.wrong_offset) finding.wrong_offset = chunk.offset + got;
        for_each_stretch({chunk.offset, got}, coverage,
                         [&](std::uint64_t at, std::uint64_t bytes, bool covered) {
                             auto const found = std::span<std::byte const>{buffer}.subspan(
                                 at - chunk.offset, bytes);
                             if (!covered && fresh) {
                                 finding.spoilt_hole_bytes += count_other_than_zero(found);
                                 return;
                             }
                             auto const wrong =
                                 first_difference(found, at, covered ? Salt::asked : Salt::earlier);
                             if (wrong && !finding.wrong_offset) finding.wrong_offset = at + *wrong;
                         });
    });
    return finding;
}

void unlink_file(std::string const& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("unlink");
}

}  // namespace bench
