#pragma once

#include <limits>
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
    struct Moment {
        std::uint64_t call = 0;
        double s = 0;
    };
    /// How long bytes may be dirty though their block is not full.
    struct Patience {
        std::uint64_t calls = UINT64_MAX;
        double s = std::numeric_limits<double>::infinity();
    };

    /// Both must outlive this. `rank`: this one, for its errors.
    DeferredWrites(Storage const& storage, BlockMemory const& memory, std::uint32_t rank)
        : storage_{storage}, memory_{memory}, rank_{rank} {}

    /// One of this rank's blocks may be dirty since then; what was dirty before stays so old.
    void note_dirty(std::uint64_t block, Moment now) { dirty_since_.try_emplace(block, now); }
    /// The same, but for calls: what goes on being filled has not seen any.
    void renew(std::uint64_t block, Moment now) {
        dirty_since_.try_emplace(block, now).first->second.call = now.call;
    }

    /// Starts to write blocks that are full, and those that have been dirty for too long. Bytes
    /// that change while they are on their way are dirty again, and go once more.
    void start(Moment now, Patience patience);
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

    void start(std::uint64_t block);
    [[nodiscard]] std::vector<Transfer> take_dirty(std::uint64_t block,
                                                   BlockBuffer const& from) const;
    void note(IoResult const& result, std::span<Transfer const> list);

    Storage const& storage_;
    BlockMemory const& memory_;
    std::uint32_t rank_;
    std::map<std::uint64_t, Moment> dirty_since_;  // by block
    std::map<std::uint64_t, UnderWay> under_way_;  // by block
    Verdict error_;
};

}  // namespace unisono
