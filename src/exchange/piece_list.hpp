#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "access/copy.hpp"
#include "exchange/coverage.hpp"
#include "exchange/message.hpp"

namespace unisono {

/// Which bytes of a window a message is about, for a receiver that does not know the sender's
/// view: runs of equal (gap, length) pieces as base-128 numbers. A regular pattern costs a few
/// bytes whatever its pieces, an irregular one about 3 bytes a piece.
class PieceList {
    struct Entry {
        std::uint64_t count = 0;
        std::uint64_t gap = 0;  // in front of each piece
        std::uint64_t bytes = 0;
    };

public:
    /// Appends a list to a message.
    class Writer {
    public:
        explicit Writer(Message& message) : message_{message} {}
        Writer(Writer const&) = delete;
        Writer& operator=(Writer const&) = delete;
        ~Writer() { put(message_, pending_); }

        /// The pieces of `positions`; `shift` is what makes a file offset one in the window.
        /// Ascending in the window from call to call.
        void add(Tiling const& view, Positions positions, std::uint64_t shift) {
            walk_runs(view, positions, [&](PieceRun const& run) {
                auto const begin = static_cast<std::uint64_t>(run.offset) + shift;
                auto const stride = static_cast<std::uint64_t>(run.stride);
                assert(begin >= at_ && (run.count == 1 || stride >= run.bytes));
                add({1, begin - at_, run.bytes});
                if (run.count > 1) add({run.count - 1, stride - run.bytes, run.bytes});
                at_ = begin + (run.count - 1) * stride + run.bytes;
            });
        }

        /// One piece, its place in the window.
        void add(BufferRange piece) {
            assert(piece.begin >= at_ && !piece.empty());
            add({1, piece.begin - at_, piece.bytes()});
            at_ = piece.end;
        }

    private:
        void add(Entry const& entry) {
            if (entry.gap == pending_.gap && entry.bytes == pending_.bytes) {
                pending_.count += entry.count;
                return;
            }
            put(message_, pending_);
            pending_ = entry;
        }

        Message& message_;
        Entry pending_;
        std::uint64_t at_ = 0;
    };

    /// Calls use(PieceRun) for runs of pieces, ascending; offsets are relative to the window. The
    /// list is whole, as a Writer has left it.
    template <class Use>
    static void read(std::span<std::byte const> list, Use&& use) {
        std::uint64_t at = 0;
        while (!list.empty()) {
            auto const count = take(list);
            auto const gap = take(list);
            auto const bytes = take(list);
            auto const stride = gap + bytes;
            use(PieceRun{static_cast<std::int64_t>(at + gap), bytes,
                         static_cast<std::int64_t>(stride), count});
            at += count * stride;
        }
    }

private:
    static void put(Message& message, Entry const& entry) {
        if (entry.count == 0) return;
        for (auto value : {entry.count, entry.gap, entry.bytes}) {
            for (; value >= 128; value >>= 7)
                message.push_back(static_cast<std::byte>(value | 128));
            message.push_back(static_cast<std::byte>(value));
        }
    }

    static std::uint64_t take(std::span<std::byte const>& list) {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            assert(!list.empty() && shift < 64);
            auto const byte = std::to_integer<std::uint64_t>(list.front());
            list = list.subspan(1);
            value |= (byte & 127) << shift;
            if (byte < 128) return value;
        }
    }
};

}  // namespace unisono
