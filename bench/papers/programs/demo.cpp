#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"segment-bytes", 64 * KiB, "one segment; the paper: 32K to 1M"},
    Parameter{"segments", 4, "of each process in one call"},
    Parameter{"file-bytes", 256 * MiB, "the whole file; the paper: 10G", any_number},
};

/// In each call process i asks for segments k * N + i, k < `segments`, of the call's part of the
/// file. With --access pieces each segment is a call of its own.
Access access(Place place, Values const& values) {
    return columns(place, values["segment-bytes"], values["segments"], values["file-bytes"]);
}

}  // namespace

extern constinit Program const demo{
    .name = "demo",
    .summary = "segments of all processes in turn: resonates with the stripes, or does not",
    .source = "Resonant I/O (IPDPS 2009), section 1.2",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
