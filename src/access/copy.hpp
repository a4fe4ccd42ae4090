#pragma once

#include <algorithm>
#include <array>
#include <cassert>
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

/// `bytes` bytes that lie side by side in memory.
class Packed {
public:
    explicit Packed(std::uint64_t bytes)
        : tiling_{make_dense(bytes), 0, static_cast<std::int64_t>(bytes)}, bytes_{bytes} {}
    /// Refers to this object.
    [[nodiscard]] Placed at(std::byte const* data) const {
        return {tiling_, {0, bytes_}, reinterpret_cast<std::uintptr_t>(data)};
    }

private:
    Tiling tiling_;
    std::uint64_t bytes_;
};

/// memcpy for the lengths that strided data has: a call costs more than 64 bytes do, and so does a
/// branch that irregular lengths make unpredictable.
inline void copy_bytes(std::byte* to, std::byte const* from, std::uint64_t bytes) {
    auto const move = [&]<std::size_t size>(std::uint64_t at) {
        std::array<std::byte, size> piece;
        std::memcpy(piece.data(), from + at, size);
        std::memcpy(to + at, piece.data(), size);
    };
    // Moves that may overlap, the last one at the very end, cover every length.
    if (bytes >= 16) {
        if (bytes > 256) {
            std::memcpy(to, from, bytes);
            return;
        }
        auto const last = bytes - 16;
        std::uint64_t at = 0;
        for (; bytes - at > 64; at += 64) move.template operator()<64>(at);
        move.template operator()<16>(std::min(at, last));
        move.template operator()<16>(std::min(at + 16, last));
        move.template operator()<16>(std::min(at + 32, last));
        move.template operator()<16>(last);
    } else if (bytes >= 8) {
        move.template operator()<8>(0);
        move.template operator()<8>(bytes - 8);
    } else if (bytes >= 4) {
        move.template operator()<4>(0);
        move.template operator()<4>(bytes - 4);
    } else {
        for (std::uint64_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
}

/// `count` pieces of `bytes`, `from_stride` and `to_stride` apart: a length that the compiler knows
/// costs a third of one that it does not.
inline void copy_pieces(std::byte* to, std::int64_t to_stride, std::byte const* from,
                        std::int64_t from_stride, std::uint64_t bytes, std::uint64_t count) {
    assert(count > 0);
    auto const each = [&](auto copy) {
        for (; count > 1; --count, to += to_stride, from += from_stride) copy(to, from);
        copy(to, from);  // the strides may lead out of the address space after the last piece
    };
    auto const fixed = [&]<std::size_t size>() {
        each([](std::byte* t, std::byte const* f) { std::memcpy(t, f, size); });
    };
    switch (count == 1 ? 0 : bytes) {
        case 4:
            return fixed.template operator()<4>();
        case 8:
            return fixed.template operator()<8>();
        case 16:
            return fixed.template operator()<16>();
        case 24:
            return fixed.template operator()<24>();
        case 32:
            return fixed.template operator()<32>();
        case 48:
            return fixed.template operator()<48>();
        case 64:
            return fixed.template operator()<64>();
        case 128:
            return fixed.template operator()<128>();
        default:
            each([&](std::byte* t, std::byte const* f) { copy_bytes(t, f, bytes); });
    }
}

/// Calls use(offset, position, bytes) for every piece, in data order, of a tiling of Kind::blocks:
/// a third of what a cursor costs.
template <class Use>
void walk_blocks(Tiling const& tiling, Positions positions, Use&& use) {
    auto const& blocks = *tiling.shape;
    auto const count = blocks.offsets.size();
    auto const* const offsets = blocks.offsets.data();
    auto const* const before = blocks.data_before.data();
    while (!positions.empty()) {
        auto const tile = positions.begin / blocks.bytes;
        auto const origin =
            tiling.origin + static_cast<std::int64_t>(tile) * tiling.extent + blocks.start;
        auto const of_tile = tile * blocks.bytes;
        auto const begin = positions.begin - of_tile;
        auto const end = std::min(positions.end - of_tile, blocks.bytes);
        auto const* const after_first = std::upper_bound(before, before + count, begin);
        auto i = static_cast<std::size_t>(after_first - before) - 1;
        for (; i < count && before[i] < end; ++i) {
            auto const at = std::max(before[i], begin);
            use(origin + offsets[i] + static_cast<std::int64_t>(at - before[i]), of_tile + at,
                std::min(before[i + 1], end) - at);
        }
        positions.begin = of_tile + end;
    }
}

/// Calls use(run) for every run of pieces, in data order.
template <class Use>
void walk_runs(Tiling const& tiling, Positions positions, Use&& use) {
    if (positions.empty()) return;  // then there may be no shape
    if (tiling.shape->kind == Shape::Kind::blocks)
        return walk_blocks(tiling, positions,
                           [&](std::int64_t offset, std::uint64_t, std::uint64_t bytes) {
                               use(PieceRun{.offset = offset, .bytes = bytes});
                           });
    std::array<PieceRun, 128> batch;
    Cursor cursor{tiling, positions};
    while (auto const count = cursor.next(batch))
        for (std::size_t i = 0; i < count; ++i) use(batch[i]);
}

/// Calls use(offset, bytes) for every piece, in data order.
template <class Use>
void walk(Tiling const& tiling, Positions positions, Use&& use) {
    walk_runs(tiling, positions, [&](PieceRun const& run) {
        for (std::uint64_t i = 0; i < run.count; ++i)
            use(run.offset + static_cast<std::int64_t>(i) * run.stride, run.bytes);
    });
}

/// Runs of two tilings in step: equal pieces, each contiguous on both sides.
struct RunPair {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::uint64_t bytes = 0;
    std::int64_t from_stride = 0;
    std::int64_t to_stride = 0;
    std::uint64_t count = 1;
};

/// Runs of a tiling, one by one.
class RunSource {
public:
    RunSource(Tiling const& tiling, Positions positions) : cursor_{tiling, positions} {}

    /// The next run; none: count 0.
    PieceRun next() {
        if (at_ == size_) {
            size_ = cursor_.next(batch_);
            at_ = 0;
            if (size_ == 0) return {.count = 0};
        }
        return batch_[at_++];
    }

private:
    Cursor cursor_;
    std::array<PieceRun, 64> batch_;
    std::size_t at_ = 0;
    std::size_t size_ = 0;
};

/// What is left of the run of one side of a walk.
struct WalkedSide {
    PieceRun run;        // what has not begun, and the piece under way
    std::uint64_t left;  // of that piece, its end

    explicit WalkedSide(PieceRun const& next) : run{next}, left{next.bytes} {}
    [[nodiscard]] bool whole() const { return left == run.bytes; }
    [[nodiscard]] std::int64_t offset() const {
        return run.offset + static_cast<std::int64_t>(run.bytes - left);
    }
    void skip_pieces(std::uint64_t count, RunSource& source) {
        run.count -= count;
        run.offset += static_cast<std::int64_t>(count) * run.stride;
        if (run.count == 0) run = source.next();
        left = run.bytes;
    }
    void skip_bytes(std::uint64_t bytes, RunSource& source) {
        left -= bytes;
        if (left == 0) skip_pieces(1, source);
    }
};

/// Walks two tilings in step: calls use(RunPair) for all that is contiguous on both sides.
/// Both sides hold equally many bytes.
template <class Use>
void walk_both_runs(Tiling const& from_tiling, Positions from_positions, Tiling const& to_tiling,
                    Positions to_positions, Use&& use) {
    assert(from_positions.bytes() == to_positions.bytes());
    if (from_tiling.dense() && to_tiling.dense()) {  // as most small calls: nothing to walk
        if (from_positions.empty()) return;
        return use(RunPair{.from = offset_of(from_tiling, from_positions.begin),
                           .to = offset_of(to_tiling, to_positions.begin),
                           .bytes = from_positions.bytes()});
    }
    RunSource from_source{from_tiling, from_positions};
    RunSource to_source{to_tiling, to_positions};
    // Values of their own: what `use` stores cannot change them, as far as the compiler is
    // concerned.
    WalkedSide from{from_source.next()};
    WalkedSide to{to_source.next()};
    auto const that_fit = [](WalkedSide const& small, WalkedSide const& large) {
        return small.run.count == 1 ? 1 : std::min(small.run.count, large.left / small.run.bytes);
    };
    while (from.run.count != 0 && to.run.count != 0) {
        RunPair pair{from.offset(), to.offset(), std::min(from.left, to.left)};
        auto const piece = static_cast<std::int64_t>(pair.bytes);
        if (from.whole() && to.whole() && from.left == to.left) {
            pair.from_stride = from.run.stride;
            pair.to_stride = to.run.stride;
            pair.count = std::min(from.run.count, to.run.count);
            from.skip_pieces(pair.count, from_source);
            to.skip_pieces(pair.count, to_source);
        } else if (from.whole() && from.left <= to.left) {
            pair.from_stride = from.run.stride;
            pair.to_stride = piece;
            pair.count = that_fit(from, to);
            from.skip_pieces(pair.count, from_source);
            to.skip_bytes(pair.count * pair.bytes, to_source);
        } else if (to.whole() && to.left <= from.left) {
            pair.from_stride = piece;
            pair.to_stride = to.run.stride;
            pair.count = that_fit(to, from);
            to.skip_pieces(pair.count, to_source);
            from.skip_bytes(pair.count * pair.bytes, from_source);
        } else {
            from.skip_bytes(pair.bytes, from_source);
            to.skip_bytes(pair.bytes, to_source);
        }
        use(pair);
    }
}

/// The same, piece by piece: use(from_offset, to_offset, bytes).
template <class Use>
void walk_both(Tiling const& from, Positions from_positions, Tiling const& to,
               Positions to_positions, Use&& use) {
    walk_both_runs(from, from_positions, to, to_positions, [&](RunPair const& pair) {
        for (std::uint64_t i = 0; i < pair.count; ++i)
            use(pair.from + static_cast<std::int64_t>(i) * pair.from_stride,
                pair.to + static_cast<std::int64_t>(i) * pair.to_stride, pair.bytes);
    });
}

/// Walks blocks in step with data that lie side by side from `packed` on: copy(block, packed,
/// bytes). All state is in values, see walk_both_runs().
template <class Copy>
void copy_blocks(Placed const& blocks, std::byte* packed, Copy&& copy) {
    walk_blocks(blocks.tiling, blocks.positions,
                [blocks = Placed{blocks}, packed, copy, first = blocks.positions.begin](
                    std::int64_t offset, std::uint64_t position, std::uint64_t bytes) {
                    copy(blocks.at(offset), packed + (position - first), bytes);
                });
}

/// Copies the data of one placement to another. Cost: O(bytes + pieces), no memory.
inline void copy_data(Placed const& from, Placed const& to) {
    if (from.positions.empty()) return;
    auto const is_blocks = [](Tiling const& tiling) {
        return tiling.shape->kind == Shape::Kind::blocks;
    };
    auto const data = [](Placed const& dense) {
        return dense.at(offset_of(dense.tiling, dense.positions.begin));
    };
    if (from.tiling.dense() && is_blocks(to.tiling))
        return copy_blocks(to, data(from), [](auto* block, auto* packed, auto bytes) {
            copy_bytes(block, packed, bytes);
        });
    if (is_blocks(from.tiling) && to.tiling.dense())
        return copy_blocks(from, data(to), [](auto* block, auto* packed, auto bytes) {
            copy_bytes(packed, block, bytes);
        });
    walk_both_runs(from.tiling, from.positions, to.tiling, to.positions, [&](RunPair const& pair) {
        copy_pieces(to.at(pair.to), pair.to_stride, from.at(pair.from), pair.from_stride,
                    pair.bytes, pair.count);
    });
}

}  // namespace unisono
