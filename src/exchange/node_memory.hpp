#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "exchange/shared_segment.hpp"

namespace unisono {

/// Long memory begins where pages do, of 64 KiB at most: a request for 1 MiB that does not touches
/// a page more than the 256 that FUSE and others take, and is cut in two, the second of some bytes.
constexpr std::size_t alignment_for(std::size_t bytes) {
    constexpr std::size_t page_bytes = 64 << 10;
    constexpr std::size_t line_bytes = 64;
    return bytes >= page_bytes ? page_bytes : line_bytes;
}

/// Memory of one purpose: shared by a node's ranks, or private where a node has one rank.
struct NodeMemory {
    SharedSegment segment;
    std::unique_ptr<std::byte[]> own;
    std::span<std::byte> bytes;  ///< empty: there is none to be had

    /// Zeroed, from a cache line's or a page's begin on. Local.
    static NodeMemory of_one_rank(std::size_t bytes) {
        auto const alignment = alignment_for(bytes);
        NodeMemory memory;
        memory.own.reset(new (std::nothrow) std::byte[bytes + alignment]{});
        if (memory.own == nullptr) return {};
        auto const start = reinterpret_cast<std::uintptr_t>(memory.own.get());
        memory.bytes = {memory.own.get() + (alignment - start % alignment), bytes};
        return memory;
    }
};

}  // namespace unisono
