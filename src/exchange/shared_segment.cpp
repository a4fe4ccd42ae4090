#include "exchange/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <utility>

#include "support/signals_blocked.hpp"
#include "unisono/extent.hpp"

namespace unisono {

namespace {

#ifndef MADV_POPULATE_WRITE
constexpr int MADV_POPULATE_WRITE = 23;  // since Linux 5.14
#endif
// MFD_NOEXEC_SEAL: since Linux 6.3, where some systems insist on it.
constexpr unsigned no_exec_seal = 8;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

int make_memory_file() {
    constexpr auto flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    auto const descriptor = memfd_create("unisono", flags | no_exec_seal);
    if (descriptor >= 0 || errno != EINVAL) return descriptor;
    return memfd_create("unisono", flags);
}

// The limit of a program's files holds for memory, too: beyond it a signal would end the program.
bool set_size(int descriptor, std::size_t bytes) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) return false;
    return ftruncate(descriptor, static_cast<off_t>(bytes)) == 0;
}

}  // namespace

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : descriptor_{std::exchange(other.descriptor_, -1)},
      memory_{std::exchange(other.memory_, {})} {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(memory_, other.memory_);
    return *this;
}

SharedSegment::~SharedSegment() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

SharedSegment SharedSegment::create(std::size_t bytes) {
    auto const descriptor = make_memory_file();
    auto const whole_pages = round_up(bytes, page_bytes());  // which is what parts are made of
    auto const fixed =
        set_size(descriptor, whole_pages) &&
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    if (fixed) return open(descriptor, bytes);
    if (descriptor >= 0) close(descriptor);
    return {};
}

SharedSegment SharedSegment::open(int descriptor, std::size_t bytes) {
    SharedSegment segment;
    segment.descriptor_ = descriptor;
    auto* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, /*offset=*/0);
    if (memory != MAP_FAILED) segment.memory_ = {static_cast<std::byte*>(memory), bytes};
    return segment;
}

bool SharedSegment::take_part(std::size_t index, std::size_t parts) {
    assert(index < parts);
    assert(descriptor_ >= 0);
    auto const pages = div_ceil(memory_.size(), page_bytes());
    auto const begin = pages * index / parts * page_bytes();
    auto const bytes = pages * (index + 1) / parts * page_bytes() - begin;
    // Faults of several processes run side by side; allocations of one file wait for each other.
    auto const taken =
        bytes == 0 || madvise(memory_.data() + begin, bytes, MADV_POPULATE_WRITE) == 0;
    int error = taken ? 0 : EINTR;
    SignalsBlocked const blocked;  // before Linux 6.18 one undoes what was allocated
    while (error == EINTR)
        error = posix_fallocate(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(bytes));
    close(std::exchange(descriptor_, -1));
    return error == 0;
}

}  // namespace unisono
