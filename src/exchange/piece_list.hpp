#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "access/copy.hpp"

namespace unisono {

/// Which bytes of a window a message is about, for a receiver that does not know the sender's
/// view: runs of equal (gap, length) pieces as base-128 numbers. A regular pattern costs a few
/// bytes whatever its pieces, an irregular one about 3 bytes a piece.
class PieceList {
public:
    /// Appends the pieces of `positions`, relative to `window_begin`.
    static void write(std::vector<std::byte>& message, Tiling const& view, Positions positions,
                      std::uint64_t window_begin) {
        std::uint64_t at = window_begin;
        Run run;
        walk(view, positions, [&](std::int64_t offset, std::uint64_t bytes) {
            auto const begin = static_cast<std::uint64_t>(offset);
            Run const next{1, begin - at, bytes};
            at = begin + bytes;
            if (next.gap == run.gap && next.bytes == run.bytes) {
                ++run.count;
                return;
            }
            put(message, run);
            run = next;
        });
        put(message, run);
    }

    /// Calls use(offset_in_window, bytes) for each piece, ascending.
    template <class Use>
    static void read(std::span<std::byte const> list, Use&& use) {
        std::uint64_t at = 0;
        while (!list.empty()) {
            auto const count = take(list);
            auto const gap = take(list);
            auto const bytes = take(list);
            for (std::uint64_t i = 0; i < count; ++i) {
                at += gap;
                use(at, bytes);
                at += bytes;
            }
        }
    }

private:
    struct Run {
        std::uint64_t count = 0;
        std::uint64_t gap = 0;
        std::uint64_t bytes = 0;
    };

    static void put(std::vector<std::byte>& message, Run const& run) {
        if (run.count == 0) return;
        for (auto value : {run.count, run.gap, run.bytes}) {
            for (; value >= 128; value >>= 7)
                message.push_back(static_cast<std::byte>(value | 128));
            message.push_back(static_cast<std::byte>(value));
        }
    }

    static std::uint64_t take(std::span<std::byte const>& list) {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            auto const byte = std::to_integer<std::uint64_t>(list.front());
            list = list.subspan(1);
            value |= (byte & 127) << shift;
            if (byte < 128) return value;
        }
    }
};

}  // namespace unisono
