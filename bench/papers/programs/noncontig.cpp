#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"elmtcount", 16384, "ints of one process in a row; the papers: 16 to 16384 and more"},
    Parameter{"call-bytes", 16 * MiB,
              "of all processes in one call; Resonant I/O: 16M, "
              "IOrchestrator: 8M",
              any_number},
    Parameter{"file-bytes", 256 * MiB, "the whole file; the papers: 10G and more", any_number},
};

/// Columns of `elmtcount` ints, one for each process, as a vector datatype.
Access access(Place place, Values const& values) {
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const width_bytes = values["elmtcount"] * sizeof(int);
    std::uint64_t const rows = parts_of(values["call-bytes"], ranks * width_bytes, "call-bytes");
    return columns(place, width_bytes, rows, values["file-bytes"]);
}

}  // namespace

extern constinit Program const noncontig{
    .name = "noncontig",
    .summary = "columns of a matrix of ints through a vector datatype",
    .source = "Resonant I/O (IPDPS 2009), 4.2.4; Orthrus (ISC 2014), 3.3",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
