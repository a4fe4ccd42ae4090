#include "exchange/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <random>
#include <utility>

namespace unisono {

namespace {

#ifndef MADV_POPULATE_WRITE
constexpr int MADV_POPULATE_WRITE = 23;  // since Linux 5.14
#endif

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

SharedSegment SharedSegment::map(int descriptor, std::size_t bytes) {
    SharedSegment segment;
    auto* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, /*offset=*/0);
    if (memory != MAP_FAILED) segment.memory_ = {static_cast<std::byte*>(memory), bytes};
    segment.descriptor_ = descriptor;
    return segment;
}

SharedSegment SharedSegment::create(std::size_t bytes, std::string& name) {
    static std::atomic<unsigned> counter = 0;
    std::random_device random;
    name = "/unisono-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + "-" +
           std::to_string(random());
    auto const descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) return {};
    if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
        close(descriptor);
        shm_unlink(name.c_str());
        return {};
    }
    return map(descriptor, bytes);
}

SharedSegment SharedSegment::open(std::string const& name, std::size_t bytes) {
    auto const descriptor = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
    return descriptor < 0 ? SharedSegment{} : map(descriptor, bytes);
}

bool SharedSegment::take_part(std::size_t index, std::size_t parts) {
    auto const page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto const pages = (memory_.size() + page_bytes - 1) / page_bytes;
    auto const begin = pages * index / parts * page_bytes;
    auto const bytes = pages * (index + 1) / parts * page_bytes - begin;
    // Faults of several processes run side by side; allocations of one file wait for each other.
    auto const taken =
        bytes == 0 || madvise(memory_.data() + begin, bytes, MADV_POPULATE_WRITE) == 0;
    int error = taken ? 0 : EINTR;
    while (error == EINTR)
        error = posix_fallocate(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(bytes));
    close(std::exchange(descriptor_, -1));
    return error == 0;
}

void SharedSegment::forget(std::string const& name) { shm_unlink(name.c_str()); }

}  // namespace unisono
