#include "execute/cached/deferred_writes.hpp"

#include <iterator>
#include <utility>

#include "backends/run.hpp"

namespace unisono {

std::vector<Transfer> DeferredWrites::take_dirty(std::uint64_t block,
                                                 BlockBuffer const& from) const {
    std::vector<Transfer> list;
    for (auto const& [begin, end] : from.take_dirty())
        list.push_back({memory_.begin_of(block) + begin, from.data() + begin, end - begin});
    return list;
}

void DeferredWrites::start(Moment now, Patience patience) {
    for (auto entry = dirty_since_.begin(); entry != dirty_since_.end();) {
        auto& [block, since] = *entry;
        auto const done_with =
            now.call - since.call >= patience.calls || memory_.buffer(block).full();
        auto const old = now.s - since.s >= patience.s;
        if (under_way_.contains(block) || !(done_with || old)) {
            ++entry;
            continue;
        }
        start(block);
        since.s = now.s;  // more may be put there
        entry = done_with ? dirty_since_.erase(entry) : std::next(entry);
    }
}

void DeferredWrites::start(std::uint64_t block) {
    auto list = take_dirty(block, memory_.buffer(block));
    if (list.empty()) return;
    auto& [under_way, io] = under_way_[block];
    under_way = std::move(list);
    io = storage_.backend->start(Direction::write, under_way);
}

void DeferredWrites::reap(bool all) {
    std::erase_if(under_way_, [&](auto& entry) {
        auto& [block, write] = entry;
        if (!all && !write.io->ended()) return false;
        note(write.io->wait(), write.list);
        return true;
    });
}

void DeferredWrites::flush(std::uint64_t block, BlockBuffer const& from) {
    dirty_since_.erase(block);
    if (auto const before = under_way_.find(block); before != under_way_.end()) {
        note(before->second.io->wait(), before->second.list);
        under_way_.erase(before);
    }
    auto const list = take_dirty(block, from);
    if (!list.empty()) write(list);
}

void DeferredWrites::flush_all() {
    memory_.for_own_buffers(
        [&](std::uint64_t block, BlockBuffer const& from) { flush(block, from); });
}

// Keeps the error of a write, with what was lost.
void DeferredWrites::note(IoResult const& result, std::span<Transfer const> list) {
    if (result.stopped_at == IoResult::nowhere) return;
    Verdict verdict{result, rank_};
    if (verdict.code == 0) verdict.code = EIO;
    verdict.lost_end = list.back().offset + list.back().bytes;
    verdict.lost_bytes = total_bytes(list) - result.bytes;
    note(verdict);
}

Verdict DeferredWrites::take_error() { return std::exchange(error_, {}); }

}  // namespace unisono
