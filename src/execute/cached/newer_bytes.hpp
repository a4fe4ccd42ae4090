#pragma once

#include <cstddef>
#include <cstdint>

#include "execute/cached/block_memory.hpp"
#include "execute/cached/own_writes.hpp"
#include "execute/request.hpp"

namespace unisono {

/// What independent calls have to see that may be newer than the file, or must not be undone by
/// older bytes that are still in memory: on one node what is in the blocks' buffers, between nodes
/// this rank's own writes. Local.
class NewerBytes {
public:
    /// Both must outlive this.
    NewerBytes(Team const& team, BlockMemory const& memory) : team_{team}, memory_{memory} {}

    /// What this rank has to remember between nodes.
    [[nodiscard]] OwnWrites& own() { return own_; }
    /// This rank's part of a collective write, between nodes, is in other ranks' buffers.
    void remember(Request const& request);

    /// Puts what this rank may already see over what `part` of its request has read from the file.
    void look_up(Request const& request, Positions part) const;
    /// `part` of an independent write has reached the file. `written`: an older value of its bytes
    /// may be on its way there.
    void note_write(Request const& request, Positions part, bool written);

    // The same for another handle of the file: of what was written through this one, and of what is
    // known here already. No other byte is kept.

    void look_up_written(Request const& request, Positions part) const;
    void replace(Request const& request, Positions part);

private:
    [[nodiscard]] bool several_nodes() const { return team_.topology().nodes() > 1; }
    void keep_newer(Extent range, std::byte const* memory);
    template <class Use>
    void for_buffers(Extent range, std::byte* memory, Use&& use) const;

    Team const& team_;
    BlockMemory const& memory_;
    OwnWrites own_;
};

/// Calls use(range, memory) for each piece of `part` of a request: of the file, and its data.
template <class Use>
void for_pieces(Request const& request, Positions part, Use&& use) {
    auto const memory = request.in_memory(part);
    walk_both(request.view, part, memory.tiling, memory.positions,
              [&](std::int64_t file, std::int64_t at, std::uint64_t bytes) {
                  auto const offset = static_cast<std::uint64_t>(file);
                  use(Extent{offset, offset + bytes}, memory.at(at));
              });
}

}  // namespace unisono
