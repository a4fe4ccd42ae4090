// Writes that repeat, without meetings.
//
//   call      1        2          3   4   5  ...  n        n + 1
//   ranks     agree    agree      each copies its data     agree
//                      and open   to the buffers           and open anew
//
// When a write is as long as the one before on every rank, its ranks make room for the blocks that
// the next ones will touch if they go on like that, as far as half of the pool. Then a rank needs
// nobody: its bytes go where their block is, the block's owner finds by a count that it is full, and
// what does not fit (another place, no buffer) is an independent write of that rank. Every rank
// counts its calls, so all know, without a word, which one is agreed on again.
// Source: View-based collective I/O (CCGrid 2008), section IV, has the buffers and the static map; its
// ranks still wait for their answer in every call. That they need not is ours.

#include <sys/stat.h>

#include <algorithm>

#include "execute/cached.hpp"
#include "execute/direct.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t calls_most = 1024;
// In one window, and one of each aggregator at least. Two windows are in memory: little, so that it
// is warm, and new to nobody.
constexpr std::uint64_t window_blocks_least = 4;
// Blocks that are not full wait for the next agreed call.
constexpr std::uint64_t until_agreed = UINT64_MAX;

}  // namespace

std::uint64_t CachedFile::advance_of(Request const& request) const {
    if (request.direction == Direction::read || !last_write_ ||
        request.positions.bytes() != last_write_->bytes)
        return CacheNeeds::no_repeat;
    if (request.positions.empty()) return 0;
    auto const begin = touched(request.view, request.positions).begin;
    auto const before = last_write_->touched.begin;
    return begin < before ? CacheNeeds::no_repeat : begin - before;
}

void CachedFile::note_write(Request const& request) {
    written_ = true;
    last_write_ = {.bytes = request.positions.bytes()};
    if (!request.positions.empty())
        last_write_->touched = touched(request.view, request.positions);
}

void CachedFile::open_for_deposits(Facts const& facts, std::uint64_t advance, CallRecord& record) {
    if (advance == CacheNeeds::no_repeat || several_nodes()) return;
    auto const first = facts.touched.begin / plan_.block_bytes;
    auto const last =
        first + std::min(table_.room() / 2, std::max<std::uint64_t>(window_blocks_least,
                                                                    plan_.aggregators.size()));
    auto const end = std::min(begin_of(last), std::uint64_t{INT64_MAX});
    if (end <= facts.touched.end) return;
    auto const calls =
        std::min((end - facts.touched.end) / std::max<std::uint64_t>(advance, 1), calls_most);
    if (calls == 0) return;
    Extent const range{facts.touched.begin, facts.touched.end + calls * advance};
    BlockTable::Blocks const blocks{first, div_ceil(range.end, plan_.block_bytes)};
    leave_behind(first, record);
    if (!reserve(blocks)) return;
    std::lock_guard const lock{mutex_};
    make_room(blocks, record);
    for (auto block = blocks.first; block < blocks.last; ++block)
        if (plan_.aggregators[table_.owner(block)] == team_.rank())
            dirty_since_.try_emplace(block, call_);
    deposits_ = {.range = range, .calls_left = calls};
}

// What was written two windows ago is in the file by now, or goes there: its memory is used again.
void CachedFile::leave_behind(std::uint64_t first_block, CallRecord& record) {
    std::lock_guard const lock{mutex_};
    auto const went_on = windows_ && first_block >= windows_->last;
    auto const last = went_on ? windows_->last : first_block;
    if (went_on) clear(table_.release({windows_->last_but_one, last}), record);
    windows_ = {.last_but_one = last, .last = first_block};
}

void CachedFile::begin_deposit() {
    std::lock_guard const lock{mutex_};
    assert(deposits_.calls_left > 0);
    --deposits_.calls_left;
    ++call_;
}

bool CachedFile::fits(Request const& request) const {
    if (request.positions.empty()) return true;
    auto const range = touched(request.view, request.positions);
    return range.begin >= deposits_.range.begin && range.end <= deposits_.range.end;
}

IoResult CachedFile::deposit(Request const& request, CallRecord& record) {
    std::lock_guard const lock{mutex_};
    if (!fits(request)) return independent(request, record);
    note_write(request);
    auto const range = last_write_->touched;
    for_blocks(range.begin, range.bytes(), [&](std::uint64_t block, Extent part_of_block) {
        auto const part = within(request.view, request.positions, part_of_block);
        if (!part.empty())
            buffer(block).store(request.in_memory(part), request.view, part, begin_of(block));
    });
    own_end_ = std::max(own_end_, range.end);
    record.lap(Phase::copying);
    reap_flushes(/*all=*/false);
    if (plan_.flush_online) start_flushes(until_agreed);
    record.lap(Phase::file);
    return {.bytes = request.positions.bytes()};
}

IoResult CachedFile::settle_size() {
    std::lock_guard const lock{mutex_};
    return grow_to_own_end();
}

// The last byte makes the file long enough: it is in its block's buffer, or in the file already.
IoResult CachedFile::grow_to_own_end() {
    struct stat status {};
    if (own_end_ == 0 || (fstat(storage_.descriptor, &status) == 0 &&
                          static_cast<std::uint64_t>(status.st_size) >= own_end_))
        return {};
    auto const block = (own_end_ - 1) / plan_.block_bytes;
    if (!table_.slot_of(block)) return {};
    Transfer const last_byte{own_end_ - 1, buffer(block).data() + (own_end_ - 1 - begin_of(block)),
                             1};
    return storage_.backend->perform(Direction::write, {&last_byte, 1});
}

}  // namespace unisono
