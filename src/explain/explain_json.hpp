#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "explain/explain.hpp"

namespace unisono {

/// One strategy that was looked at, as it was asked for.
struct Asked {
    std::string_view strategy;
    Explained explained;
};

/// The columns of a picture.
struct Columns {
    std::uint64_t begin = 0;
    std::uint64_t column_bytes = 1;
    std::size_t count = 0;
};

/// At most `most` columns, of a power of two of bytes, that cover `part`.
Columns columns_for(Extent part, std::size_t most);

/// Everything that `unisono explain` shows, as one JSON object: `call`, `columns`, `asked` (by
/// rank, bytes in each column), `servers` (by column), `strategies`.
std::string explanation_json(Scene const& scene, Columns const& columns,
                             std::vector<Asked> const& strategies);

}  // namespace unisono
