#pragma once

#include <cstddef>

namespace unisono::simulated {

/// What this program has from `new` and not given back, in bytes; the allocator's rounding counts.
std::size_t heap_bytes();
/// The most it ever was since count_heap_peak_anew().
std::size_t heap_peak_bytes();
void count_heap_peak_anew();

}  // namespace unisono::simulated
