#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "access/copy.hpp"
#include "exchange/coverage.hpp"
#include "exchange/node_memory.hpp"

namespace unisono {

/// Which block of the file is in which of its aggregator's collective buffers.
///
/// Block k belongs to aggregator k % A, for good. A function of the ranges that calls touch, so
/// that every rank keeps the same table without a message.
/// Source: View-based collective I/O (CCGrid 2008), section IV: static map, pool of buffers, LRU.
class BlockTable {
public:
    /// Blocks [first, last) of the file.
    struct Blocks {
        std::uint64_t first = 0;
        std::uint64_t last = 0;

        [[nodiscard]] std::uint64_t count() const { return last - first; }
    };
    /// A block in its aggregator's `slot`.
    struct Entry {
        std::uint64_t block = 0;
        std::size_t slot = 0;
    };

    /// Both at least 1.
    BlockTable(std::size_t aggregators, std::size_t slots_each)
        : slots_each_{slots_each}, used_first_(aggregators), free_(aggregators) {
        assert(aggregators > 0 && slots_each > 0);
    }

    [[nodiscard]] std::size_t owner(std::uint64_t block) const {
        return static_cast<std::size_t>(block % used_first_.size());
    }
    /// So many blocks fit at once, whatever the first is.
    [[nodiscard]] std::uint64_t room() const { return slots_each_ * used_first_.size(); }
    [[nodiscard]] std::optional<std::size_t> slot_of(std::uint64_t block) const;

    /// How many slots the aggregator will have used once these blocks have been placed, in one go
    /// or in parts.
    [[nodiscard]] std::size_t slots_after(std::size_t aggregator, Blocks blocks) const;

    /// Finds room for `blocks`, at most room(): buffers not used yet first, then those that have
    /// not been used for longest. Returns what was there, ascending.
    std::vector<Entry> place(Blocks blocks);
    /// Gives up what there is of `blocks`, for the next ones that are placed; returns what it was,
    /// ascending.
    std::vector<Entry> release(Blocks blocks);

    /// All blocks of an aggregator, ascending.
    [[nodiscard]] std::vector<Entry> entries(std::size_t aggregator) const;
    void clear();

private:
    using Order = std::list<Entry>;  // latest use first

    std::size_t slots_each_;
    std::vector<Order> used_first_;               // by aggregator
    std::vector<std::vector<std::size_t>> free_;  // slots that were given up, by aggregator
    std::unordered_map<std::uint64_t, Order::iterator> places_;
};

/// One collective buffer in node memory: a block's bytes, and what is known of each.
///
/// A byte is *dirty* when it was written here and not yet to the file, *taken* once it was dirty
/// and has been on its way there, *valid* when it is as in the file, *wanted* while a read asks for
/// it. Any rank of the node may mark; only the aggregator takes.
class BlockBuffer {
public:
    static std::size_t bytes_needed(std::uint64_t block_bytes) {
        return round_up(
            round_up(block_bytes, 64) + sizeof(Head) + 4 * Coverage::bytes_needed(block_bytes),
            alignment_for(block_bytes));
    }

    /// `memory` begins the data; it is aligned as node memory is, zero at first, and shared by the
    /// node.
    BlockBuffer(std::byte* memory, std::uint64_t block_bytes)
        : memory_{memory}, block_bytes_{block_bytes} {
        assert(reinterpret_cast<std::uintptr_t>(memory) % alignof(Head) == 0);
    }

    [[nodiscard]] std::byte* data() const { return memory_; }
    /// To be marked.
    [[nodiscard]] Coverage dirty() const { return to_mark(0); }
    [[nodiscard]] Coverage wanted() const { return to_mark(2); }

    /// Reads may take bytes below this file offset.
    [[nodiscard]] std::uint64_t readable_end() const { return head().readable_end; }
    void set_readable_end(std::uint64_t offset) const { head().readable_end = offset; }

    /// What is dirty, ascending, relative to the block; it is valid from now on. A byte that is
    /// marked meanwhile stays dirty.
    [[nodiscard]] std::vector<BufferRange> take_dirty() const;
    /// What is wanted within `range` but neither valid nor dirty, ascending; nothing of it is
    /// wanted any more. Nothing may be wanted around it.
    [[nodiscard]] std::vector<BufferRange> take_missing(BufferRange range) const;
    void mark_valid(BufferRange range) const;
    /// Copies data to their places, which are dirty from then on: those of `part` of a view, or a
    /// range of the block.
    void store(Placed const& from, Tiling const& view, Positions part,
               std::uint64_t block_begin) const;
    void store(std::byte const* from, BufferRange range) const;
    /// The same for bytes that the file has, too.
    void store_valid(std::byte const* from, BufferRange range) const;
    /// What is known within `range` is like `from`, its first byte there, from now on.
    void renew(std::byte const* from, BufferRange range) const;
    /// Every byte has been stored since the last time that something was taken: it may be written
    /// as a whole. Cheap until enough has been stored; bytes that came twice may delay it.
    [[nodiscard]] bool full() const;
    /// What is valid or dirty within `range`, ascending.
    [[nodiscard]] std::vector<BufferRange> known(BufferRange range) const;
    /// What was written here within `range`, ascending.
    [[nodiscard]] std::vector<BufferRange> written(BufferRange range) const;
    void forget() const;

    // What ranks that have not met do to one block, with std::unique_lock: only who has it makes
    // bytes valid, and nobody writes independently there meanwhile. It is had for as long as a
    // file access takes, never while a rank waits for others.

    [[nodiscard]] bool try_lock() const {
        return !head().locked.exchange(true, std::memory_order_acquire);
    }
    void unlock() const { head().locked.store(false, std::memory_order_release); }

    /// All bytes before it are known. Whoever sees it may read them, locked or not.
    [[nodiscard]] std::uint64_t filled_end() const {
        return head().filled_end.load(std::memory_order_acquire);
    }
    /// Locked. What is not known from filled_end() to `end`, ascending. O(1) where nothing was
    /// marked.
    [[nodiscard]] std::vector<BufferRange> unknown(std::uint64_t end) const;
    /// Locked. It never becomes less. `stopped`: the file ended there, or could not be read on.
    void set_filled_end(std::uint64_t end, bool stopped) const {
        head().filling_stopped.store(stopped, std::memory_order_relaxed);
        head().filled_end.store(end, std::memory_order_release);
    }
    [[nodiscard]] bool filling_stopped() const {
        return head().filling_stopped.load(std::memory_order_relaxed);
    }
    /// How many blocks of a window have been here before this one.
    [[nodiscard]] std::uint64_t turn() const { return head().turn.load(std::memory_order_acquire); }
    /// Locked. Forgets the one before it, which no rank may use any more.
    void begin_turn(std::uint64_t turn) const {
        forget();
        head().turn.store(turn, std::memory_order_release);
    }

private:
    struct alignas(64) Head {
        std::uint64_t readable_end;
        std::atomic<std::uint64_t> stored_bytes;
        std::atomic<std::uint64_t> filled_end;
        std::atomic<std::uint64_t> turn;
        std::atomic<bool> filling_stopped;
        std::atomic<bool> marked;  // any byte, as anything
        std::atomic<bool> locked;
    };

    [[nodiscard]] Head& head() const {
        return *reinterpret_cast<Head*>(memory_ + round_up(block_bytes_, 64));
    }
    [[nodiscard]] Coverage::Word* words(std::size_t which) const {
        return reinterpret_cast<Coverage::Word*>(memory_ + round_up(block_bytes_, 64) +
                                                 sizeof(Head) +
                                                 which * Coverage::bytes_needed(block_bytes_));
    }
    [[nodiscard]] std::uint64_t word_count() const { return div_ceil(block_bytes_, 64); }
    [[nodiscard]] Coverage to_mark(std::size_t which) const {
        if (auto& marked = head().marked; !marked.load(std::memory_order_relaxed))
            marked.store(true, std::memory_order_relaxed);
        return {words(which), 1};
    }
    [[nodiscard]] std::uint64_t known_bits(std::uint64_t word) const;
    template <class Bits>
    [[nodiscard]] std::vector<BufferRange> runs_within(BufferRange range, Bits&& bits) const;

    std::byte* memory_;
    std::uint64_t block_bytes_;
};

}  // namespace unisono
