#include "exchange/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <utility>

namespace unisono {

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : memory_{std::exchange(other.memory_, {})} {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
}

SharedSegment::~SharedSegment() {
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

SharedSegment SharedSegment::map(int descriptor, std::size_t bytes) {
    SharedSegment segment;
    auto* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, /*offset=*/0);
    if (memory != MAP_FAILED) segment.memory_ = {static_cast<std::byte*>(memory), bytes};
    close(descriptor);
    return segment;
}

SharedSegment SharedSegment::create(std::size_t bytes, std::string& name) {
    static std::atomic<unsigned> counter = 0;
    std::random_device random;
    name = "/unisono-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + "-" +
           std::to_string(random());
    auto const descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) return {};
    if (posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) != 0) {
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

void SharedSegment::forget(std::string const& name) { shm_unlink(name.c_str()); }

}  // namespace unisono
