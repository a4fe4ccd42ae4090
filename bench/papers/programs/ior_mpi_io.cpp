#include <array>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "dice.hpp"
#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"transfer-bytes", 64 * KiB, "of each process in one call"},
    Parameter{"file-bytes", 256 * MiB, "of all processes; the papers: 64M to 16G", any_number},
    Parameter{"part-step-bytes", 0, "from a process' part to the next; 0: they follow each other",
              any_number},
    Parameter{"random", 0, "1: transfers of the whole file dealt to processes at random"},
};

/// Transfers of one process, as numbers of those of the whole file, one for each call.
using Transfers = std::vector<std::uint64_t>;

/// The i-th part of the file, ascending.
Transfers own_part(std::uint64_t calls, Place place) {
    Transfers own(calls);
    std::iota(own.begin(), own.end(), static_cast<std::uint64_t>(place.rank) * calls);
    return own;
}

/// As IOR deals the offsets of a shared file: all are shuffled, the same way on every process and
/// in every run, and each process takes as many as the others.
Transfers dealt(std::uint64_t calls, Place place) {
    Transfers all(calls * static_cast<std::uint64_t>(place.ranks));
    std::iota(all.begin(), all.end(), 0);
    Dice dice;
    for (std::uint64_t left = all.size(); left > 1; --left)
        std::swap(all[left - 1], all[dice.below(left)]);
    Transfers own;
    for (std::uint64_t call = 0; call < calls; ++call)
        own.push_back(all[call * static_cast<std::uint64_t>(place.ranks) +
                          static_cast<std::uint64_t>(place.rank)]);
    return own;
}

/// Processes go through the file in step: each through its part, or all over it.
Access access(Place place, Values const& values) {
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const transfer_bytes = values["transfer-bytes"];
    std::uint64_t const calls =
        parts_of(values["file-bytes"], ranks * transfer_bytes, "file-bytes");
    std::uint64_t const part_bytes = calls * transfer_bytes;
    std::uint64_t const step_bytes =
        values["part-step-bytes"] == 0 ? part_bytes : values["part-step-bytes"];
    if (step_bytes < part_bytes)
        throw std::invalid_argument("--part-step-bytes must be at least what a process has");
    auto const own = std::make_shared<Transfers const>(
        values["random"] != 0 ? dealt(calls, place) : own_part(calls, place));

    Access access = neighbouring_blocks(place, calls, transfer_bytes);
    access.file_piece = [=](std::uint64_t index) -> Piece {
        auto const transfer = (*own)[index];
        return {transfer / calls * step_bytes + transfer % calls * transfer_bytes, transfer_bytes};
    };
    access.file_bytes = (ranks - 1) * step_bytes + part_bytes;
    access.coverage = {part_bytes, step_bytes};
    return access;
}

}  // namespace

extern constinit Program const ior_mpi_io{
    .name = "ior-mpi-io",
    .summary = "each process its own contiguous part, or transfers all over the file, in step",
    .source = "Resonant I/O (IPDPS 2009), 4.2.3; LACIO (IPDPS 2011), IV.C (IOR, random)",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
