#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "access/cursor.hpp"

namespace unisono {

/// Data in memory, described by a tiling: the byte at offset x of the tiling is at base + x.
struct Placed {
    Tiling const& tiling;
    Positions positions;
    std::uintptr_t base;

    [[nodiscard]] std::byte* at(std::int64_t offset) const {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): base may lie outside of the object
        return reinterpret_cast<std::byte*>(base + static_cast<std::uintptr_t>(offset));
    }
};

/// memcpy for the lengths that strided data has: a call costs more than 64 bytes do.
inline void copy_bytes(std::byte* to, std::byte const* from, std::uint64_t bytes) {
    // Two moves of one size that may overlap cover every length between that size and its double.
    auto const both_ends = [&]<std::size_t size>() {
        std::array<std::byte, size> head;
        std::array<std::byte, size> tail;
        std::memcpy(head.data(), from, size);
        std::memcpy(tail.data(), from + bytes - size, size);
        std::memcpy(to, head.data(), size);
        std::memcpy(to + bytes - size, tail.data(), size);
    };
    if (bytes > 64) {
        std::memcpy(to, from, bytes);
    } else if (bytes >= 32) {
        both_ends.template operator()<32>();
    } else if (bytes >= 16) {
        both_ends.template operator()<16>();
    } else if (bytes >= 8) {
        both_ends.template operator()<8>();
    } else if (bytes >= 4) {
        both_ends.template operator()<4>();
    } else {
        for (std::uint64_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
}

/// Calls use(offset, bytes) for every piece, in data order.
template <class Use>
void walk(Tiling const& tiling, Positions positions, Use&& use) {
    std::array<Piece, 256> batch;
    Cursor cursor{tiling, positions};
    while (auto const count = cursor.next(batch))
        for (std::size_t i = 0; i < count; ++i) use(batch[i].offset, batch[i].bytes);
}

/// Walks two tilings in step: calls use(from_offset, to_offset, bytes) for every run that is
/// contiguous on both sides. Both sides hold equally many bytes.
template <class Use>
void walk_both(Tiling const& from, Positions from_positions, Tiling const& to,
               Positions to_positions, Use&& use) {
    if (from_positions.empty()) return;
    if (from.dense()) {
        auto at = offset_of(from, from_positions.begin);
        walk(to, to_positions, [&](std::int64_t offset, std::uint64_t bytes) {
            use(at, offset, bytes);
            at += static_cast<std::int64_t>(bytes);
        });
        return;
    }
    if (to.dense()) {
        auto at = offset_of(to, to_positions.begin);
        walk(from, from_positions, [&](std::int64_t offset, std::uint64_t bytes) {
            use(offset, at, bytes);
            at += static_cast<std::int64_t>(bytes);
        });
        return;
    }
    constexpr std::size_t batch_pieces = 128;
    std::array<Piece, batch_pieces> from_batch;
    std::array<Piece, batch_pieces> to_batch;
    Cursor from_cursor{from, from_positions};
    Cursor to_cursor{to, to_positions};
    std::size_t from_count = 0, from_at = 0, to_count = 0, to_at = 0;
    for (;;) {
        if (from_at == from_count) {
            from_count = from_cursor.next(from_batch);
            from_at = 0;
            if (from_count == 0) return;
        }
        if (to_at == to_count) {
            to_count = to_cursor.next(to_batch);
            to_at = 0;
            if (to_count == 0) return;
        }
        auto& source = from_batch[from_at];
        auto& target = to_batch[to_at];
        auto const bytes = source.bytes < target.bytes ? source.bytes : target.bytes;
        use(source.offset, target.offset, bytes);
        source.offset += static_cast<std::int64_t>(bytes);
        target.offset += static_cast<std::int64_t>(bytes);
        source.bytes -= bytes;
        target.bytes -= bytes;
        from_at += source.bytes == 0;
        to_at += target.bytes == 0;
    }
}

/// Copies the data of one placement to another. Cost: O(bytes + pieces), no memory.
inline void copy_data(Placed const& from, Placed const& to) {
    walk_both(from.tiling, from.positions, to.tiling, to.positions,
              [&](std::int64_t from_offset, std::int64_t to_offset, std::uint64_t bytes) {
                  copy_bytes(to.at(to_offset), from.at(from_offset), bytes);
              });
}

}  // namespace unisono
