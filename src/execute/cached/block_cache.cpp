#include "execute/cached/block_cache.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace unisono {
namespace {

// Ranges of ones in bits(word), words [first, last).
template <class Bits>
std::vector<BufferRange> runs_of(std::uint64_t first, std::uint64_t last, Bits&& bits) {
    std::vector<BufferRange> runs;
    for (auto word = first; word < last; ++word) {
        std::uint64_t rest = bits(word);
        for (auto at = word * 64; rest != 0;) {
            auto const skip = static_cast<unsigned>(std::countr_zero(rest));
            rest >>= skip;
            auto const run = static_cast<unsigned>(std::countr_one(rest));
            rest = run == 64 ? 0 : rest >> run;
            at += skip;
            if (!runs.empty() && runs.back().end == at)
                runs.back().end += run;
            else
                runs.push_back({at, at + run});
            at += run;
        }
    }
    return runs;
}

}  // namespace

std::optional<std::size_t> BlockTable::slot_of(std::uint64_t block) const {
    auto const place = places_.find(block);
    if (place == places_.end()) return std::nullopt;
    return place->second->slot;
}

std::size_t BlockTable::slots_after(std::size_t aggregator, Blocks blocks) const {
    auto slots = used_first_[aggregator].size() + free_[aggregator].size();
    auto const count = used_first_.size();
    auto block = blocks.first + (aggregator + count - owner(blocks.first)) % count;
    auto free = free_[aggregator].size();
    for (; block < blocks.last && slots < slots_each_; block += count) {
        if (places_.contains(block)) continue;
        if (free > 0)
            --free;
        else
            ++slots;
    }
    return slots;
}

std::vector<BlockTable::Entry> BlockTable::place(Blocks blocks) {
    assert(blocks.count() <= room());
    for (auto block = blocks.first; block < blocks.last; ++block)
        if (auto const place = places_.find(block); place != places_.end()) {
            auto& order = used_first_[owner(block)];
            order.splice(order.begin(), order, place->second);
        }
    std::vector<Entry> replaced;
    for (auto block = blocks.first; block < blocks.last; ++block) {
        if (places_.contains(block)) continue;
        auto& order = used_first_[owner(block)];
        auto& free = free_[owner(block)];
        auto slot = order.size();
        if (!free.empty()) {
            slot = free.back();
            free.pop_back();
        } else if (slot == slots_each_) {
            replaced.push_back(order.back());
            slot = order.back().slot;
            places_.erase(order.back().block);
            order.pop_back();
        }
        order.push_front({block, slot});
        places_[block] = order.begin();
    }
    std::ranges::sort(replaced, {}, &Entry::block);
    return replaced;
}

std::vector<BlockTable::Entry> BlockTable::release(Blocks blocks) {
    std::vector<Entry> released;
    for (auto& order : used_first_)
        std::erase_if(order, [&](Entry const& entry) {
            if (entry.block < blocks.first || entry.block >= blocks.last) return false;
            released.push_back(entry);
            return true;
        });
    std::ranges::sort(released, {}, &Entry::block);
    for (auto const& [block, slot] : released) {
        free_[owner(block)].push_back(slot);
        places_.erase(block);
    }
    return released;
}

std::vector<BlockTable::Entry> BlockTable::entries(std::size_t aggregator) const {
    auto const& order = used_first_[aggregator];
    std::vector<Entry> all{order.begin(), order.end()};
    std::ranges::sort(all, {}, &Entry::block);
    return all;
}

void BlockTable::clear() {
    places_.clear();
    for (auto& order : used_first_) order.clear();
    for (auto& slots : free_) slots.clear();
}

std::vector<BufferRange> BlockBuffer::take_dirty() const {
    auto* const dirty = words(0);
    auto* const valid = words(1);
    auto* const taken = words(3);
    head().stored_bytes.store(0, std::memory_order_relaxed);
    return runs_of(0, word_count(), [&](std::uint64_t word) {
        auto const bits = dirty[word].load(std::memory_order_acquire);
        if (bits == 0) return bits;
        // These before no longer dirty: others may look at any time.
        valid[word].fetch_or(bits);
        taken[word].store(taken[word].load(std::memory_order_relaxed) | bits,
                          std::memory_order_relaxed);  // nobody else does
        dirty[word].fetch_and(~bits);
        return bits;
    });
}

std::vector<BufferRange> BlockBuffer::take_missing(BufferRange range) const {
    assert(range.end <= block_bytes_);
    auto* const wanted = words(2);
    return runs_of(range.begin / 64, div_ceil(range.end, 64), [&](std::uint64_t word) {
        auto const bits = wanted[word].load(std::memory_order_relaxed);
        if (bits == 0) return bits;
        wanted[word].store(0, std::memory_order_relaxed);
        return bits & ~known_bits(word);
    });
}

// Data come before their marks here, too.
void BlockBuffer::mark_valid(BufferRange range) const {
    if (range.empty()) return;
    assert(range.end <= block_bytes_);
    auto covered = to_mark(1);
    Coverage::Marker{covered}.mark(range.begin, range.bytes());
}

// Others may take what is dirty at any time, so data come before their marks.
void BlockBuffer::store(Placed const& from, Tiling const& view, Positions part,
                        std::uint64_t block_begin) const {
    auto covered = dirty();
    {
        Coverage::Marker marker{covered};
        Placed const to{view, part, reinterpret_cast<std::uintptr_t>(data()) - block_begin};
        walk_both_runs(from.tiling, from.positions, view, part, [&](RunPair const& pair) {
            copy_pieces(to.at(pair.to), pair.to_stride, from.at(pair.from), pair.from_stride,
                        pair.bytes, pair.count);
            marker.mark({pair.to - static_cast<std::int64_t>(block_begin), pair.bytes,
                         pair.to_stride, pair.count});
        });
    }
    head().stored_bytes.fetch_add(part.bytes(), std::memory_order_release);
}

void BlockBuffer::store(std::byte const* from, BufferRange range) const {
    std::memcpy(data() + range.begin, from, range.bytes());
    auto covered = dirty();
    Coverage::Marker{covered}.mark(range.begin, range.bytes());
    head().stored_bytes.fetch_add(range.bytes(), std::memory_order_release);
}

void BlockBuffer::store_valid(std::byte const* from, BufferRange range) const {
    std::memcpy(data() + range.begin, from, range.bytes());
    mark_valid(range);
}

void BlockBuffer::renew(std::byte const* from, BufferRange range) const {
    for (auto const& run : known(range))
        std::memcpy(data() + run.begin, from + (run.begin - range.begin), run.bytes());
}

bool BlockBuffer::full() const {
    if (head().stored_bytes.load(std::memory_order_acquire) < block_bytes_) return false;
    auto const* const dirty = words(0);
    auto const whole = block_bytes_ / 64;
    auto const rest = block_bytes_ % 64;
    auto const all =
        std::all_of(dirty, dirty + whole, [](auto const& word) { return word.load() == ~0ULL; }) &&
        (rest == 0 || dirty[whole].load() == ones(0, rest - 1));
    if (!all) head().stored_bytes.store(0, std::memory_order_relaxed);
    return all;
}

template <class Bits>
std::vector<BufferRange> BlockBuffer::runs_within(BufferRange range, Bits&& bits) const {
    if (range.empty()) return {};
    assert(range.end <= block_bytes_);
    auto runs = runs_of(range.begin / 64, div_ceil(range.end, 64), bits);
    for (auto& run : runs) run = intersect(run, range);
    std::erase_if(runs, [](BufferRange run) { return run.empty(); });
    return runs;
}

std::vector<BufferRange> BlockBuffer::known(BufferRange range) const {
    return runs_within(range, [&](std::uint64_t word) { return known_bits(word); });
}

std::vector<BufferRange> BlockBuffer::written(BufferRange range) const {
    return runs_within(range, [&](std::uint64_t word) {
        auto const dirty = words(0)[word].load();  // first, as in known_bits()
        return dirty | words(3)[word].load();
    });
}

std::uint64_t BlockBuffer::known_bits(std::uint64_t word) const {
    auto const filled = filled_end();
    if (filled >= (word + 1) * 64) return ~0ULL;
    auto const below = filled > word * 64 ? ones(0, filled - word * 64 - 1) : 0;
    // In the order in which take_dirty() changes them backwards: no byte is seen as neither.
    auto const dirty = words(0)[word].load();
    return below | dirty | words(1)[word].load();
}

std::vector<BufferRange> BlockBuffer::unknown(std::uint64_t end) const {
    assert(end <= block_bytes_);
    BufferRange const rest{filled_end(), end};
    if (rest.begin >= rest.end) return {};
    if (!head().marked.load(std::memory_order_relaxed)) return {rest};
    return runs_within(rest, [&](std::uint64_t word) { return ~known_bits(word); });
}

void BlockBuffer::forget() const {
    head().stored_bytes.store(0, std::memory_order_relaxed);
    set_filled_end(0, /*stopped=*/false);
    head().turn.store(0, std::memory_order_relaxed);
    if (!head().marked.exchange(false, std::memory_order_relaxed)) return;
    for (std::size_t which = 0; which < 4; ++which)
        for (std::uint64_t word = 0; word < word_count(); ++word)
            words(which)[word].store(0, std::memory_order_relaxed);
}

}  // namespace unisono
