#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace unisono::simulated {

/// Zeroes, aligned to a cache line. What nobody touches takes no memory: a node holds windows for
/// all aggregators and has data in few of their pages.
struct ZeroedMemory {
    explicit ZeroedMemory(std::size_t byte_count = 0) {
        constexpr std::size_t line = 64;
        auto space = byte_count + line;
        void* at = std::calloc(space, 1);
        if (at == nullptr) throw std::bad_alloc{};
        allocated.reset(at);
        bytes = {static_cast<std::byte*>(std::align(line, byte_count, at, space)), byte_count};
    }

    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> allocated;
    std::span<std::byte> bytes;
};

}  // namespace unisono::simulated
