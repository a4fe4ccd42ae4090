#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"block-bytes", 64 * KiB, "one block of a process; the paper does not say"},
    Parameter{"call-bytes", 16 * MiB, "of all processes in one call; the paper does not say",
              any_number},
    Parameter{"file-bytes", 64 * MiB, "in all; the paper: 64M to 4000M", any_number},
};

/// Each process's blocks are strided; those of all together are a sequential run.
Access access(Place place, Values const& values) {
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const block_bytes = values["block-bytes"];
    return columns(place, block_bytes,
                   parts_of(values["call-bytes"], ranks * block_bytes, "call-bytes"),
                   values["file-bytes"]);
}

}  // namespace

extern constinit Program const strided{
    .name = "strided",
    .summary = "strided blocks of each process, sequential together",
    .source = "LACIO (IPDPS 2011), IV.B",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
