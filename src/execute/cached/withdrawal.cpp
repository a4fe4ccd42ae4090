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
// Between nodes reads are agreed on: there each node would read what others read, too.
// Consistency is MPI's: a sync, a close, a new size drain, and that forgets the blocks; a
// collective write ends the window; independent writes go to the file and to the block. What other
// programs write is seen after that, as it is by reads that are agreed on. An end of the file that
// was found is looked for anew by the next call that wants to go beyond it. A file error is the
// error of the rank that cannot get what it asks for, by itself: a bad byte in the block that
// nobody wants is none. Source: View-based collective I/O (CCGrid 2008), section IV, has buffers
// that reads find full; to read ahead, and not to meet, is ours.

#include <algorithm>
#include <cstring>

#include "execute/cached/cached_file.hpp"
#include "execute/direct.hpp"

namespace unisono {
namespace {

// Less is not worth a file access, where the block has more; more keeps others waiting for it.
constexpr std::uint64_t fill_bytes_least = 1 << 20;

}  // namespace

IoResult CachedFile::withdraw(Request const& request, CallRecord& record) {
    if (window_.direct) return move_directly(request, record);
    std::lock_guard const lock{mutex_};
    if (may_be_stale_ || !fits(request)) {
        misfit_ = true;
        return independent(request, request.positions, record);
    }
    note(request, record);
    auto rest = request.positions;
    if (rest.empty()) return {};
    auto const range = last_read_->touched;
    auto const blocks = memory_.blocks_of(range);
    // Each rank begins with a block that no other one is reading.
    for (auto block = blocks.first; block < blocks.last; ++block)
        fill_if_free(block, std::min(range.end, memory_.begin_of(block + 1)));
    record.lap(Phase::file);
    for (auto block = blocks.first; block < blocks.last; ++block) {
        auto const part = within(request.view, rest, memory_.extent_of(block));
        if (part.empty()) continue;
        auto const there =
            within(request.view, part, {0, filled(block, touched(request.view, part).end, record)});
        copy_data({request.view, there, memory_.base_of(memory_.buffer(block), block)},
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
        if (memory_.buffer(block).filling_stopped()) return;
        if (fill_if_free(block, std::min(end, memory_.begin_of(block + 1)))) return;
    }
}

// Who has to wait for a block reads on in a later one meanwhile, if that is free.
bool CachedFile::read_after(std::uint64_t block) {
    auto const stopped = [&] { return memory_.buffer(block).filling_stopped(); };
    while (!stopped() && memory_.begin_of(++block) < window_.range.end && !stopped()) {
        auto const next = memory_.begin_of(block) + memory_.buffer(block).filled_end() + 1;
        auto const end = std::min(memory_.begin_of(block + 1), window_.range.end);
        if (next <= end && fill_if_free(block, next)) return true;
    }
    return false;
}

// Whether this rank has read something.
bool CachedFile::fill_if_free(std::uint64_t block, std::uint64_t wanted_end) {
    auto const to = memory_.buffer(block);
    auto const lacks = [&] { return memory_.begin_of(block) + to.filled_end() < wanted_end; };
    if (!lacks()) return false;
    std::unique_lock const lock{to, std::try_to_lock};
    if (!lock || !lacks()) return false;
    fill(block, to, wanted_end);
    return true;
}

// Where in the file this block's bytes that may be read end, once it has been tried to have them
// as far as wanted.
std::uint64_t CachedFile::filled(std::uint64_t block, std::uint64_t wanted_end,
                                 CallRecord& record) {
    auto const from = memory_.buffer(block);
    while (memory_.begin_of(block) + from.filled_end() < wanted_end) {
        std::unique_lock lock{from, std::try_to_lock};
        if (!lock) {
            if (!read_after(block)) team_.give_way();
            continue;
        }
        record.lap(Phase::waiting);
        if (memory_.begin_of(block) + from.filled_end() < wanted_end) fill(block, from, wanted_end);
        break;
    }
    record.lap(Phase::file);
    return memory_.begin_of(block) + from.filled_end();
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
    if (!list.empty()) result = storage_.backend->perform(Direction::read, list);
    to.set_filled_end(std::min(result.stopped_at, end) - begin, result.stopped_at < end);
}

std::unique_lock<BlockBuffer const> CachedFile::locked(BlockBuffer const& buffer) const {
    std::unique_lock lock{buffer, std::try_to_lock};
    while (!lock && !lock.try_lock()) team_.give_way();
    return lock;
}

}  // namespace unisono
