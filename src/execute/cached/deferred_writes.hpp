#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "exchange/agreement.hpp"
#include "execute/cached/block_memory.hpp"
#include "execute/request.hpp"

namespace unisono {

/// What this rank, as an aggregator, has still to write of its blocks, and what came of what it has
/// written so far. Local.
class DeferredWrites {
public:
    /// Both must outlive this. `rank`: this one, for its errors.
    DeferredWrites(Storage const& storage, BlockMemory const& memory, std::uint32_t rank)
        : storage_{storage}, memory_{memory}, rank_{rank} {}

    /// One of this rank's blocks may be dirty since that call; what was dirty before stays so old.
    void note_dirty(std::uint64_t block, std::uint64_t call) {
        dirty_since_.try_emplace(block, call);
    }
    /// The same, but what goes on being filled is not old.
    void renew(std::uint64_t block, std::uint64_t call) { dirty_since_[block] = call; }

    /// Starts to write blocks that are full, and those that have been dirty for so many calls.
    /// Bytes that change while they are on their way are dirty again, and go once more.
    void start(std::uint64_t call, std::uint64_t calls_dirty_at_most);
    /// Takes note of writes that have ended, or waits for all.
    void reap(bool all);
    /// Writes what is dirty of a block, after what is under way.
    void flush(std::uint64_t block, BlockBuffer const& from);
    void flush_all();
    void write(std::span<Transfer const> list) {
        note(storage_.backend->perform(Direction::write, list), list);
    }

    /// An error to be told with those of writes.
    void note(Verdict const& error) { error_.merge(error); }
    /// The first error so far, with the range that it hit; forgets it.
    [[nodiscard]] Verdict take_error();

private:
    struct UnderWay {
        std::vector<Transfer> list;
        std::unique_ptr<PendingIo> io;
    };

    [[nodiscard]] std::vector<Transfer> take_dirty(std::uint64_t block,
                                                   BlockBuffer const& from) const;
    void note(IoResult const& result, std::span<Transfer const> list);

    Storage const& storage_;
    BlockMemory const& memory_;
    std::uint32_t rank_;
    std::map<std::uint64_t, std::uint64_t> dirty_since_;  // block -> call
    std::map<std::uint64_t, UnderWay> under_way_;         // by block
    Verdict error_;
};

}  // namespace unisono
