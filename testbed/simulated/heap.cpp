#include "simulated/heap.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

std::size_t bytes_now = 0;
std::size_t bytes_most = 0;

}  // namespace

// One thread only. The other forms of new and delete come to these two.
void* operator new(std::size_t bytes) {
    auto* const memory = std::malloc(std::max<std::size_t>(bytes, 1));
    if (memory == nullptr) throw std::bad_alloc{};
    bytes_now += malloc_usable_size(memory);
    bytes_most = std::max(bytes_most, bytes_now);
    return memory;
}

void operator delete(void* memory) noexcept {
    if (memory != nullptr) bytes_now -= malloc_usable_size(memory);
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept { operator delete(memory); }

namespace unisono::simulated {

std::size_t heap_bytes() { return bytes_now; }
std::size_t heap_peak_bytes() { return bytes_most; }
void count_heap_peak_anew() { bytes_most = bytes_now; }

}  // namespace unisono::simulated
