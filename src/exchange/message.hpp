#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace unisono {

/// Leaves elements that are about to be written as they are.
template <class T>
struct Uncleared : std::allocator<T> {
    template <class Other>
    void construct(Other* at) noexcept {
        ::new (static_cast<void*>(at)) Other;
    }
    template <class Other, class... Arguments>
    void construct(Other* at, Arguments&&... arguments) {
        ::new (static_cast<void*>(at)) Other(std::forward<Arguments>(arguments)...);
    }
};

/// What one rank sends to another. To clear bytes that are written next costs about a tenth of an
/// exchange (docs/lab/tried.md). insert() goes byte by byte: resize and copy where there are
/// many.
using Message = std::vector<std::byte, Uncleared<std::byte>>;

}  // namespace unisono
