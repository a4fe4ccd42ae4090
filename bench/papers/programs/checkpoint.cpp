#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"structures", 8, "data structures of the program, a call for each"},
    Parameter{"file-bytes", 256 * MiB, "the image of all processes; the paper: 6 GB", any_number},
};

/// The program's data structures one after the other; each process has its share of each. The paper
/// says only that the program writes its structures; their order in the file is ours.
Access access(Place place, Values const& values) {
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const share_bytes =
        parts_of(values["file-bytes"], ranks * values["structures"], "file-bytes");
    return neighbouring_blocks(place, values["structures"], share_bytes);
}

}  // namespace

extern constinit Program const checkpoint{
    .name = "checkpoint",
    .summary = "a program's data structures, each shared out among the processes",
    .source = "LACIO (IPDPS 2011), IV.D",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
