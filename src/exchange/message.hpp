#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
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
/// exchange (docs/lab/tried.md). insert() goes byte by byte: append() does not.
using Message = std::vector<std::byte, Uncleared<std::byte>>;

inline void append(Message& message, std::span<std::byte const> bytes) {
    auto const end = message.size();
    message.resize(end + bytes.size());
    std::ranges::copy(bytes, message.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace unisono
