#pragma once

#include <sys/mman.h>

#include <utility>

namespace unisono::orchestra {

/// A file of fixed size that processes share as memory. Unmaps itself.
template <class Content>
class SharedFile {
public:
    SharedFile() = default;
    /// Maps `descriptor`, which may be closed then. Empty, with errno, if that fails.
    SharedFile(int descriptor, bool writable) {
        auto* const memory = mmap(nullptr, sizeof(Content), PROT_READ | (writable ? PROT_WRITE : 0),
                                  MAP_SHARED, descriptor, 0);
        if (memory != MAP_FAILED) content_ = static_cast<Content*>(memory);
    }
    SharedFile(SharedFile&& other) noexcept : content_(std::exchange(other.content_, nullptr)) {}
    SharedFile& operator=(SharedFile&& other) noexcept {
        std::swap(content_, other.content_);
        return *this;
    }
    ~SharedFile() {
        if (content_ != nullptr) munmap(static_cast<void*>(content_), sizeof(Content));
    }

    explicit operator bool() const { return content_ != nullptr; }
    Content* operator->() const { return content_; }

private:
    Content* content_ = nullptr;
};

}  // namespace unisono::orchestra
