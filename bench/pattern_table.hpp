#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "access.hpp"
#include "shapes.hpp"

namespace bench {

/// Everything that a pattern may depend on.
struct Job : Place {
    std::uint64_t bytes = 0;  ///< aimed at, all ranks together; patterns round it to their pieces
};

struct Pattern {
    std::string_view name;
    std::string_view summary;
    Access (*build)(Job const&);  ///< local: no communication; the datatypes are committed
};

/// All patterns, in the order of the tables in the documentation. To add one, write a function
/// that returns an Access and add a line to the table at the end of pattern_table.cpp.
std::span<Pattern const> all_patterns();

}  // namespace bench
