#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "exchange/shared_segment.hpp"

namespace unisono {

/// Memory of one purpose: shared by a node's ranks, or private where a node has one rank.
struct NodeMemory {
    SharedSegment segment;
    std::unique_ptr<std::byte[]> own;
    std::span<std::byte> bytes;  ///< empty: there is none to be had

    /// Zeroed, from a cache line's begin on. Local.
    static NodeMemory of_one_rank(std::size_t bytes) {
        constexpr std::size_t line_bytes = 64;
        NodeMemory memory;
        memory.own.reset(new (std::nothrow) std::byte[bytes + line_bytes]{});
        if (memory.own == nullptr) return {};
        auto const start = reinterpret_cast<std::uintptr_t>(memory.own.get());
        memory.bytes = {memory.own.get() + (line_bytes - start % line_bytes), bytes};
        return memory;
    }
};

}  // namespace unisono
