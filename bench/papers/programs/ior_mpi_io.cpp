#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "dice.hpp"
#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"transfer-bytes", 64 * KiB, "of each process in one call"},
    Parameter{"file-bytes", 256 * MiB, "the whole file; the papers: 64M to 16G"},
    Parameter{"random", 0, "1: each process's transfers in an order of its own"},
};

/// The order of one process's transfers: ascending, or shuffled, the same in every run.
std::vector<std::uint64_t> order_of(std::uint64_t transfers, bool random, int rank) {
    std::vector<std::uint64_t> order(transfers);
    std::iota(order.begin(), order.end(), 0);
    if (!random) return order;
    Dice dice(rank);
    for (std::uint64_t left = transfers; left > 1; --left)
        std::swap(order[left - 1], order[dice.below(left)]);
    return order;
}

/// Process i has the i-th part of the file, and goes through it in step with the others.
Access access(Place place, Values const& values) {
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const transfer_bytes = values["transfer-bytes"];
    std::uint64_t const calls =
        parts_of(values["file-bytes"], ranks * transfer_bytes, "file-bytes");
    auto const order = std::make_shared<std::vector<std::uint64_t> const>(
        order_of(calls, values["random"] != 0, place.rank));
    std::uint64_t const first = static_cast<std::uint64_t>(place.rank) * calls * transfer_bytes;

    Access access = neighbouring_blocks(place, calls, transfer_bytes);
    access.file_piece = [=](std::uint64_t index) -> Piece {
        return {first + (*order)[index] * transfer_bytes, transfer_bytes};
    };
    return access;
}

}  // namespace

extern constinit Program const ior_mpi_io{
    .name = "ior-mpi-io",
    .summary = "each process its own contiguous part, in step",
    .source = "Resonant I/O (IPDPS 2009), 4.2.3; LACIO (IPDPS 2011), IV.C (IOR, random)",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
