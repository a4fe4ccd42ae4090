#pragma once

#include <utility>

#include "execute/cached/block_memory.hpp"
#include "execute/request.hpp"

namespace unisono {

/// Reads from a window of blocks that all ranks of a node have open (withdrawal.cpp): whoever comes
/// first to a block reads it for all. Where nobody can write through the file, blocks may take
/// turns in few buffers. Local: waits for others' reading of a block at most.
class BlockReader {
public:
    using Blocks = BlockTable::Blocks;

    /// All must outlive this.
    BlockReader(Team& team, BlockMemory const& memory, Storage const& storage)
        : team_{team}, memory_{memory}, storage_{storage} {}

    /// All ranks are to read in `range`, whose blocks are all in buffers, or take turns in those of
    /// `placed`, its first ones.
    void open(Extent range, Blocks placed);
    /// This rank reads no more in it.
    void close();

    /// Buffers have had other blocks than the table has for them, until it forgets them.
    [[nodiscard]] bool in_turns() const { return turned_.count() > 0; }
    /// The blocks that it has for these; nobody may find them any more.
    Blocks end_turns() { return std::exchange(turned_, {}); }

    [[nodiscard]] bool may_read(Extent range) const;
    /// Copies what the request asks for, all of it in `touched`; returns how many bytes from its
    /// beginning on. There may be more: behind an error, or where others hold it up.
    std::uint64_t copy(Request const& request, Extent touched, CallRecord& record);
    /// Reads what comes next, for others too, if that is free.
    void read_ahead(std::uint64_t offset);
    /// Others need not wait for this rank any more: it reads by itself from now on.
    void leave_turns();
    [[nodiscard]] bool has_left() const { return in_turns() && range_.empty(); }

    /// Another handle has written `part` of its request: who has more calls in this window may find
    /// it in a buffer.
    void renew_in_turns(Request const& request, Positions part) const;

private:
    void renew_in_turns(Extent range, std::byte const* memory) const;
    void go_on_to(std::uint64_t block);
    [[nodiscard]] bool all_are_past(std::uint64_t block) const;
    [[nodiscard]] BlockBuffer buffer_of(std::uint64_t block) const;
    [[nodiscard]] std::uint64_t turn_of(std::uint64_t block) const {
        return (block - placed_.first) / placed_.count();
    }
    [[nodiscard]] bool take_turn(std::uint64_t block, BlockBuffer const& buffer) const;
    [[nodiscard]] std::uint64_t filled_end(std::uint64_t block) const;
    [[nodiscard]] bool filling_stopped(std::uint64_t block) const;
    [[nodiscard]] std::uint64_t filled(std::uint64_t block, std::uint64_t wanted_end,
                                       CallRecord& record);
    void fill(std::uint64_t block, BlockBuffer const& to, std::uint64_t wanted_end);
    bool fill_if_free(std::uint64_t block, std::uint64_t wanted_end);
    bool read_after(std::uint64_t block);

    Team& team_;
    BlockMemory const& memory_;
    Storage const& storage_;
    Extent range_;   // that this rank may still read
    Blocks placed_;  // whose buffers it is read to
    Blocks turned_;  // those whose buffers others take turns in
};

}  // namespace unisono
