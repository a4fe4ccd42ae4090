#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "unisono/backend.hpp"

namespace unisono {

/// A place in a list: `done_bytes` bytes into transfer `index`; past the end when index == size.
struct ListPosition {
    std::size_t index = 0;
    std::uint64_t done_bytes = 0;
};

/// What one vectored system call can move: file bytes without a gap.
struct Run {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

/// Largest run that collect_run makes. Linux moves at most 2 GiB - 4 KiB per call; a smaller power
/// of two keeps what follows a full run aligned.
constexpr std::uint64_t run_bytes_max = std::uint64_t{1} << 30;

/// The position `bytes` further on; never rests at the end of a transfer or on an empty one, so
/// that a position before the end always has a byte to move. `bytes` must be in the list.
ListPosition advance(std::span<Transfer const> list, ListPosition from, std::uint64_t bytes);

/// Collects the memory of the file-adjacent transfers that begin at `from` (before the end) into
/// `memory`: at most IOV_MAX entries and `bytes_max` bytes. Cost: O(entries).
Run collect_run(std::span<Transfer const> list, ListPosition from, std::uint64_t bytes_max,
                std::vector<iovec>& memory);

/// The same bytes in pieces that end where a multiple of `unit` does; no empty ones.
std::vector<Transfer> cut_at(std::uint64_t unit, std::span<Transfer const> list);

/// Bytes of the list.
std::uint64_t total_bytes(std::span<Transfer const> list);

/// Bytes of the list that lie before file offset `end`.
std::uint64_t bytes_before(std::span<Transfer const> list, std::uint64_t end);

}  // namespace unisono
