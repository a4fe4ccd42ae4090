#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"segment-bytes", 64 * KiB, "of each process in one call"},
    Parameter{"file-bytes", 256 * MiB, "the whole file; the papers: 10G", any_number},
};

/// Each process has one segment in a call; together they are a contiguous part of the file.
Access access(Place place, Values const& values) {
    std::uint64_t const segment_bytes = values["segment-bytes"];
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    return neighbouring_blocks(
        place, parts_of(values["file-bytes"], ranks * segment_bytes, "file-bytes"), segment_bytes);
}

}  // namespace

extern constinit Program const mpi_io_test{
    .name = "mpi-io-test",
    .summary = "neighbouring segments in each call, call after call through the file",
    .source = "Resonant I/O (IPDPS 2009), 4.2.2; IOrchestrator (SC 2010), IV.A",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
