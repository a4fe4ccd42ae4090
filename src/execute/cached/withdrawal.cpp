// Reads that repeat, without meetings.
//
//   call      1        2          3   4   5  ...               n        n + 1
//   ranks     agree    agree      each copies what it asks     agree
//                      and open   for; one in turn reads on    and open anew
//
// As for writes (deposit.cpp) a window of blocks is open for calls that go on like those before.
// The rank that comes first to a block reads all of it, in one go, also what nobody has asked for
// yet; others that come meanwhile wait for that file access alone, so no rank waits for another
// one's program. Then a call is a copy from shared memory. Bytes of the block that are known stay
// as they are: what ranks of this file have written is newer than the file, or as new.
//
// Where nobody can write through the file, the window is not as long as its memory: its blocks take
// turns in few buffers, which stay warm. Each rank tells how far it has got, and whoever reads a
// block begins its turn when all are past the one before. A rank that would wait long for another
// one's program reads by itself.
//
// Between nodes reads are agreed on: there each node would read what others read, too.
// Consistency is MPI's: a sync, a close, a new size drain, and that forgets the blocks; a
// collective write ends the window; independent writes go to the file and to the block. What other
// programs write is seen after that, as it is by reads that are agreed on. An end of the file that
// was found is looked for anew by the next call that wants to go beyond it. A file error is the
// error of the rank that cannot get what it asks for, by itself: a bad byte in the block that
// nobody wants is none. Source: View-based collective I/O (CCGrid 2008), section IV, has buffers
// that reads find full; to read ahead, and not to meet, is ours.

#include <algorithm>

#include "execute/cached/cached_file.hpp"
#include "execute/shared_fills.hpp"

namespace unisono {
namespace {

// Less is not worth a file access, where the block has more; more keeps others waiting for it.
constexpr std::uint64_t fill_bytes_least = 1 << 20;
// For ranks that are so far behind that a block cannot have its turn. They may never come: then
// this one reads by itself.
constexpr int times_to_give_way = 200;

}  // namespace

IoResult CachedFile::withdraw(Request const& request, CallRecord& record) {
    if (window_.direct) return move_directly(request, record);
    std::lock_guard const lock{mutex_};
    if (may_be_stale_ || !fits(request)) {
        misfit_ = true;
        leave_turns();
        return independent(request, request.positions, record);
    }
    note(request, record);
    auto rest = request.positions;
    if (rest.empty()) {
        leave_turns();
        return {};
    }
    auto const range = last_read_->touched;
    auto const blocks = memory_.blocks_of(range);
    go_on_to(blocks.first);
    // Each rank begins with a block that no other one is reading.
    for (auto block = blocks.first; block < blocks.last; ++block)
        fill_if_free(block, std::min(range.end, memory_.begin_of(block + 1)));
    record.lap(Phase::file);
    for (auto block = blocks.first; block < blocks.last; ++block) {
        auto const part = within(request.view, rest, memory_.extent_of(block));
        if (part.empty()) continue;
        auto const there =
            within(request.view, part, {0, filled(block, touched(request.view, part).end, record)});
        copy_data({request.view, there, memory_.base_of(buffer_of(block), block)},
                  request.in_memory(there));
        record.lap(Phase::copying);
        rest.begin += there.bytes();
        if (there.bytes() < part.bytes()) break;
    }
    // The end of the file, or an error: whichever it is, this rank sees it by itself.
    IoResult result;
    if (!rest.empty()) result = independent(request, rest, record);
    result.bytes += rest.begin - request.positions.begin;
    read_ahead(range.end);
    write_behind(record, calls_dirty_usually);
    return result;
}

// Whoever is ahead of the others reads for them what comes next, so that they go on meanwhile.
void CachedFile::read_ahead(std::uint64_t offset) {
    auto const end = std::min(offset + fill_bytes_least / 2, window_.range.end);
    for (auto block = memory_.block_at(offset); memory_.begin_of(block) < end; ++block) {
        if (filling_stopped(block)) return;
        if (fill_if_free(block, std::min(end, memory_.begin_of(block + 1)))) return;
    }
}

// Who has to wait for a block reads on in a later one meanwhile, if that is free.
bool CachedFile::read_after(std::uint64_t block) {
    auto const last = block + window_.placed.count();
    auto const stopped = [&] { return filling_stopped(block); };
    while (!stopped() && ++block < last && memory_.begin_of(block) < window_.range.end &&
           !stopped()) {
        auto const next = filled_end(block) + 1;
        auto const end = std::min(memory_.begin_of(block + 1), window_.range.end);
        if (next <= end && fill_if_free(block, next)) return true;
    }
    return false;
}

// Whether this rank has read something.
bool CachedFile::fill_if_free(std::uint64_t block, std::uint64_t wanted_end) {
    auto const to = buffer_of(block);
    auto const lacks = [&] { return filled_end(block) < wanted_end; };
    if (!lacks()) return false;
    std::unique_lock const lock{to, std::try_to_lock};
    if (!lock || !lacks() || !take_turn(block, to)) return false;
    fill(block, to, wanted_end);
    return true;
}

// filled_end(), once it has been tried to have the block as far as wanted.
std::uint64_t CachedFile::filled(std::uint64_t block, std::uint64_t wanted_end,
                                 CallRecord& record) {
    auto const from = buffer_of(block);
    auto patience = times_to_give_way;
    while (filled_end(block) < wanted_end) {
        std::unique_lock lock{from, std::try_to_lock};
        if (!lock) {
            if (!read_after(block)) team_.give_way();
            continue;
        }
        record.lap(Phase::waiting);
        if (filled_end(block) >= wanted_end) break;
        if (take_turn(block, from)) {
            fill(block, from, wanted_end);
            break;
        }
        lock.unlock();
        if (patience-- == 0) {
            misfit_ = true;
            leave_turns();
            return memory_.begin_of(block);
        }
        team_.give_way();
    }
    record.lap(Phase::file);
    return filled_end(block);
}

// Reads what is not known of a block, as far as wanted and some more. The block is locked.
void CachedFile::fill(std::uint64_t block, BlockBuffer const& to, std::uint64_t wanted_end) {
    auto const begin = memory_.begin_of(block);
    auto const end = std::min(std::max(wanted_end, begin + to.filled_end() + fill_bytes_least),
                              memory_.begin_of(block + 1));
    std::vector<Transfer> list;
    for (auto const& range : to.unknown(end - begin))
        list.push_back({begin + range.begin, to.data() + range.begin, range.bytes()});
    IoResult result;
    auto const read = [&] { result = storage_.backend->perform(Direction::read, list); };
    if (!list.empty()) shared_fills().fill(list, read);
    to.set_filled_end(std::min(result.stopped_at, end) - begin, result.stopped_at < end);
}

// This rank needs no block before it any more.
void CachedFile::go_on_to(std::uint64_t block) {
    if (!in_turns()) return;
    window_.range.begin = memory_.begin_of(block);
    memory_.progress_of(team_.rank()).store(block, std::memory_order_release);
}

// From now on this rank reads by itself.
void CachedFile::leave_turns() {
    if (!in_turns()) return;
    window_.range = {};
    memory_.progress_of(team_.rank()).store(UINT64_MAX, std::memory_order_release);
}

bool CachedFile::all_are_past(std::uint64_t block) const {
    for (std::uint32_t rank = 0; rank < team_.topology().ranks(); ++rank)
        if (memory_.progress_of(rank).load(std::memory_order_acquire) <= block) return false;
    return true;
}

// In which the block has its turn; the first ones are where the table has them.
BlockBuffer CachedFile::buffer_of(std::uint64_t block) const {
    auto const& placed = window_.placed;
    return memory_.buffer(placed.first + (block - placed.first) % placed.count());
}

// Where in the file this block's bytes that may be read end.
std::uint64_t CachedFile::filled_end(std::uint64_t block) const {
    auto const buffer = buffer_of(block);
    return memory_.begin_of(block) + (buffer.turn() == turn_of(block) ? buffer.filled_end() : 0);
}

bool CachedFile::filling_stopped(std::uint64_t block) const {
    auto const buffer = buffer_of(block);
    return buffer.turn() == turn_of(block) && buffer.filling_stopped();
}

// The buffer is locked. False while a rank may use what is there.
bool CachedFile::take_turn(std::uint64_t block, BlockBuffer const& buffer) const {
    if (buffer.turn() == turn_of(block)) return true;
    if (!all_are_past(block - window_.placed.count())) return false;
    buffer.begin_turn(turn_of(block));
    return true;
}

// Another handle has written there. Who has more calls in this window may find it in a buffer.
void CachedFile::renew_in_turns(Extent range, std::byte const* memory) const {
    auto const& placed = window_.placed;
    if (placed.count() == 0) return;
    auto const begin = std::max(range.begin, memory_.begin_of(placed.first));
    for (auto block = memory_.block_at(begin); memory_.begin_of(block) < range.end; ++block) {
        auto const buffer = buffer_of(block);
        auto const lock = locked(buffer);
        if (buffer.turn() != turn_of(block)) continue;
        auto const part = intersect({begin, range.end}, memory_.extent_of(block));
        buffer.renew(memory + (part.begin - range.begin), memory_.within_block(part, block));
    }
}

std::unique_lock<BlockBuffer const> CachedFile::locked(BlockBuffer const& buffer) const {
    std::unique_lock lock{buffer, std::try_to_lock};
    while (!lock && !lock.try_lock()) team_.give_way();
    return lock;
}

}  // namespace unisono
