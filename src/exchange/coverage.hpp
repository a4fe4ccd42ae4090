#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "access/cursor.hpp"

namespace unisono {

/// A word with the bits `first` to `last` set.
constexpr std::uint64_t ones(std::uint64_t first, std::uint64_t last) {
    return (~0ULL << first) & (~0ULL >> (63 - last));
}

/// Bytes of a window or a block in a collective buffer, counted from its first one.
using BufferRange = Interval<struct OfBuffer>;

/// Which granules of a window have been filled: one bit each, in memory shared by a node's ranks.
/// Marking twice is harmless, so overlapping ranks are; what nobody marked is never written.
class Coverage {
public:
    using Word = std::atomic<std::uint64_t>;

    static std::size_t bytes_needed(std::uint64_t window_bytes) {
        return static_cast<std::size_t>(round_up(div_ceil(window_bytes, 8), 64));
    }

    /// `words` all zero; `granule_bytes` a power of two that divides what is marked before take(),
    /// all in all: a rank may mark an extent piece by piece, as its memory cuts it.
    Coverage(Word* words, std::uint64_t granule_bytes)
        : words_{words}, shift_{static_cast<unsigned>(std::countr_zero(granule_bytes))} {
        assert(std::has_single_bit(granule_bytes));
    }

    /// Marks pieces in any order; neighbours in one word cost one atomic operation together. Who
    /// acquires a mark sees what was stored before it.
    class Marker {
    public:
        explicit Marker(Coverage& coverage) : coverage_{coverage} {}
        Marker(Marker const&) = delete;
        Marker& operator=(Marker const&) = delete;
        ~Marker() { flush(); }

        /// Offsets are relative to the window.
        void mark(PieceRun const& run) {
            auto at = static_cast<std::uint64_t>(run.offset);
            if (run.stride == static_cast<std::int64_t>(run.bytes))
                return mark(at, run.bytes * run.count);
            auto const stride = static_cast<std::uint64_t>(run.stride);
            assert(run.bytes > 0);
            for (std::uint64_t i = 0; i < run.count; ++i, at += stride) set(at, run.bytes);
        }

        void mark(std::uint64_t offset_in_window, std::uint64_t bytes) {
            assert(bytes > 0);
            set(offset_in_window, bytes);
        }

    private:
        void set(std::uint64_t offset_in_window, std::uint64_t bytes) {
            auto const first = offset_in_window >> coverage_.shift_;
            auto const last = (offset_in_window + bytes - 1) >> coverage_.shift_;
            go_to(first / 64);
            if (first / 64 == last / 64) {
                pending_ |= ones(first % 64, last % 64);
                return;
            }
            pending_ |= ones(first % 64, 63);
            for (auto word = first / 64 + 1; word < last / 64; ++word)
                coverage_.words_[word].store(~0ULL, std::memory_order_release);
            go_to(last / 64);
            pending_ |= ones(0, last % 64);
        }
        void go_to(std::uint64_t word) {
            if (word == word_) return;
            flush();
            word_ = word;
        }
        void flush() {
            if (pending_ != 0)
                coverage_.words_[word_].fetch_or(pending_, std::memory_order_release);
            pending_ = 0;
        }

        Coverage& coverage_;
        std::uint64_t word_ = 0;
        std::uint64_t pending_ = 0;
    };

    /// Takes what has been marked in the window, which has `window_bytes`: ascending, and
    /// all bits cleared again. Cost: O(words + ranges).
    std::vector<BufferRange> take(std::uint64_t window_bytes) {
        std::vector<BufferRange> ranges;
        auto const granules = div_ceil(window_bytes, std::uint64_t{1} << shift_);
        for (std::uint64_t word = 0; word * 64 < granules; ++word) {
            auto bits = words_[word].load(std::memory_order_relaxed);
            if (bits == 0) continue;
            words_[word].store(0, std::memory_order_relaxed);
            for (unsigned at = 0; bits != 0;) {
                auto const skip = static_cast<unsigned>(std::countr_zero(bits));
                bits >>= skip;
                auto const run = static_cast<unsigned>(std::countr_one(bits));
                append(ranges, word * 64 + at + skip, run, window_bytes);
                at += skip + run;
                bits = run == 64 ? 0 : bits >> run;
            }
        }
        return ranges;
    }

private:
    void append(std::vector<BufferRange>& ranges, std::uint64_t granule, std::uint64_t run,
                std::uint64_t window_bytes) const {
        auto const begin = granule << shift_;
        assert(begin < window_bytes);
        auto const end = std::min((granule + run) << shift_, window_bytes);
        if (!ranges.empty() && ranges.back().end == begin)
            ranges.back().end = end;
        else
            ranges.push_back({begin, end});
    }

    Word* words_;
    unsigned shift_;
};

}  // namespace unisono
