#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"block-bytes", 64 * KiB, "a process's part of a row; the paper: 4K to 4M"},
    Parameter{"depth", 4, "rows in one call; the paper: 4 to 128"},
    Parameter{"file-bytes", 256 * MiB, "the whole matrix", any_number},
};

/// A matrix in row-major order, whose columns are shared out evenly; a call is for `depth` rows.
Access access(Place place, Values const& values) {
    return columns(place, values["block-bytes"], values["depth"], values["file-bytes"]);
}

}  // namespace

extern constinit Program const matrix{
    .name = "matrix",
    .summary = "some rows of each process's columns in every call",
    .source = "Orthrus (ISC 2014), 3.2",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
