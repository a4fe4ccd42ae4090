#include "execute/cached/block_reader.hpp"

#include <algorithm>

#include "execute/cached/newer_bytes.hpp"
#include "execute/shared_fills.hpp"

namespace unisono {
namespace {

// Less is not worth a file access, where the block has more; more keeps others waiting for it.
constexpr std::uint64_t fill_bytes_least = 1 << 20;
// For ranks that are so far behind that a block cannot have its turn. They may never come: then
// this one reads by itself.
constexpr int times_to_give_way = 200;

}  // namespace

void BlockReader::open(Extent range, Blocks placed) {
    range_ = range;
    placed_ = placed;
    if (memory_.blocks_of(range).last == placed.last) return;
    turned_ = placed;
    go_on_to(placed.first);
}

void BlockReader::close() {
    leave_turns();
    range_ = {};
    placed_ = {};
}

// A block's turn comes when all ranks are past the one before it, this one as well.
bool BlockReader::may_read(Extent range) const {
    return range.begin >= range_.begin && range.end <= range_.end &&
           (!in_turns() || memory_.blocks_of(range).count() <= placed_.count());
}

std::uint64_t BlockReader::copy(Request const& request, Extent touched, CallRecord& record) {
    auto const blocks = memory_.blocks_of(touched);
    auto const end_in = [&](std::uint64_t block) {
        return std::min(touched.end, memory_.begin_of(block + 1));
    };
    go_on_to(blocks.first);
    // Each rank begins with a block that no other one is reading.
    for (auto block = blocks.first; block < blocks.last; ++block)
        fill_if_free(block, end_in(block));
    record.lap(Phase::file);
    auto rest = request.positions;
    for (auto block = blocks.first; block < blocks.last; ++block) {
        auto const part = within(request.view, rest, memory_.extent_of(block));
        if (part.empty()) continue;
        auto const end = unisono::touched(request.view, part).end;
        auto const there = within(request.view, part, {0, filled(block, end, record)});
        copy_data({request.view, there, memory_.base_of(buffer_of(block), block)},
                  request.in_memory(there));
        record.lap(Phase::copying);
        rest.begin += there.bytes();
        if (there.bytes() < part.bytes()) break;
    }
    return rest.begin - request.positions.begin;
}

// Whoever is ahead of the others reads for them what comes next, so that they go on meanwhile.
void BlockReader::read_ahead(std::uint64_t offset) {
    auto const end = std::min(offset + fill_bytes_least / 2, range_.end);
    for (auto block = memory_.block_at(offset); memory_.begin_of(block) < end; ++block) {
        if (filling_stopped(block)) return;
        if (fill_if_free(block, std::min(end, memory_.begin_of(block + 1)))) return;
    }
}

// Who has to wait for a block reads on in a later one meanwhile, if that is free.
bool BlockReader::read_after(std::uint64_t block) {
    auto const last = block + placed_.count();
    auto const stopped = [&] { return filling_stopped(block); };
    while (!stopped() && ++block < last && memory_.begin_of(block) < range_.end && !stopped()) {
        auto const next = filled_end(block) + 1;
        auto const end = std::min(memory_.begin_of(block + 1), range_.end);
        if (next <= end && fill_if_free(block, next)) return true;
    }
    return false;
}

// Whether this rank has read something.
bool BlockReader::fill_if_free(std::uint64_t block, std::uint64_t wanted_end) {
    auto const to = buffer_of(block);
    auto const lacks = [&] { return filled_end(block) < wanted_end; };
    if (!lacks()) return false;
    std::unique_lock const lock{to, std::try_to_lock};
    if (!lock || !lacks() || !take_turn(block, to)) return false;
    fill(block, to, wanted_end);
    return true;
}

// filled_end(), once it has been tried to have the block as far as wanted.
std::uint64_t BlockReader::filled(std::uint64_t block, std::uint64_t wanted_end,
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
            leave_turns();
            return memory_.begin_of(block);
        }
        team_.give_way();
    }
    record.lap(Phase::file);
    return filled_end(block);
}

// Reads what is not known of a block, as far as wanted and some more. The block is locked.
void BlockReader::fill(std::uint64_t block, BlockBuffer const& to, std::uint64_t wanted_end) {
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
void BlockReader::go_on_to(std::uint64_t block) {
    if (!in_turns()) return;
    range_.begin = memory_.begin_of(block);
    memory_.progress_of(team_.rank()).store(block, std::memory_order_release);
}

// From now on this rank reads by itself.
void BlockReader::leave_turns() {
    if (!in_turns()) return;
    range_ = {};
    memory_.progress_of(team_.rank()).store(UINT64_MAX, std::memory_order_release);
}

bool BlockReader::all_are_past(std::uint64_t block) const {
    for (std::uint32_t rank = 0; rank < team_.topology().ranks(); ++rank)
        if (memory_.progress_of(rank).load(std::memory_order_acquire) <= block) return false;
    return true;
}

// In which the block has its turn; the first ones are where the table has them.
BlockBuffer BlockReader::buffer_of(std::uint64_t block) const {
    return memory_.buffer(placed_.first + (block - placed_.first) % placed_.count());
}

// Where in the file this block's bytes that may be read end.
std::uint64_t BlockReader::filled_end(std::uint64_t block) const {
    auto const buffer = buffer_of(block);
    return memory_.begin_of(block) + (buffer.turn() == turn_of(block) ? buffer.filled_end() : 0);
}

bool BlockReader::filling_stopped(std::uint64_t block) const {
    auto const buffer = buffer_of(block);
    return buffer.turn() == turn_of(block) && buffer.filling_stopped();
}

// The buffer is locked. False while a rank may use what is there.
bool BlockReader::take_turn(std::uint64_t block, BlockBuffer const& buffer) const {
    if (buffer.turn() == turn_of(block)) return true;
    if (!all_are_past(block - placed_.count())) return false;
    buffer.begin_turn(turn_of(block));
    return true;
}

void BlockReader::renew_in_turns(Request const& request, Positions part) const {
    for_pieces(request, part,
               [&](Extent range, std::byte const* memory) { renew_in_turns(range, memory); });
}

void BlockReader::renew_in_turns(Extent range, std::byte const* memory) const {
    if (placed_.count() == 0) return;
    auto const begin = std::max(range.begin, memory_.begin_of(placed_.first));
    for (auto block = memory_.block_at(begin); memory_.begin_of(block) < range.end; ++block) {
        auto const buffer = buffer_of(block);
        auto const lock = memory_.locked(buffer);
        if (buffer.turn() != turn_of(block)) continue;
        auto const part = intersect({begin, range.end}, memory_.extent_of(block));
        buffer.renew(memory + (part.begin - range.begin), memory_.within_block(part, block));
    }
}

}  // namespace unisono
