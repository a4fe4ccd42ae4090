#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backends/run.hpp"
#include "support/cache_lines.hpp"
#include "support/clock.hpp"
#include "support/other_way.hpp"

namespace unisono {

/// How this process reads from files into memory that its node's ranks share. What they have read
/// there before is in their caches, and each line must be taken from these before it is written to:
/// where their cores have another last-level cache, that takes longer than all else. Lines that
/// were dropped from all caches before need not be taken; where the cache is common, dropping them
/// takes longer. So both are tried (docs/lab/tried.md has the numbers). Thread-safe. Ours.
class SharedFills {
public:
    /// `read` has read all of `list` when it returns.
    template <class Read>
    void fill(std::span<Transfer const> list, Read&& read) {
        if (!can_drop_from_caches()) return read();
        auto const bytes = total_bytes(list);
        auto const drops = drops_first(bytes);
        auto const begun_s = steady_clock_s();
        if (drops)
            for (auto const& piece : list) drop_from_caches({piece.memory, piece.bytes});
        read();
        note(drops, bytes, steady_clock_s() - begun_s);
    }

    /// Whether lines are to be dropped before so many bytes are read.
    [[nodiscard]] bool drops_first(std::uint64_t bytes) const;
    /// What was read, and the dropping, took so long. What was not in memory yet tells nothing; but
    /// the way that is only tried may itself be as slow.
    void note(bool dropped, std::uint64_t bytes, double seconds);

private:
    std::array<OtherWay, 65> by_size_;  // by powers of two; the other way: dropped
};

SharedFills& shared_fills();

}  // namespace unisono
