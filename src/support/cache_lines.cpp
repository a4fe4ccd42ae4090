#include "support/cache_lines.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace unisono {
namespace {

constexpr std::uint64_t line_bytes = 64;

std::uint64_t place_in_line(std::byte const* at) {
    return reinterpret_cast<std::uintptr_t>(at) % line_bytes;
}

}  // namespace

#ifdef __x86_64__

bool can_drop_from_caches() {
    static bool const can = [] {
        constexpr unsigned extended_features = 7;
        constexpr unsigned clflushopt = 1U << 23;
        unsigned eax = 0;
        unsigned ebx = 0;
        unsigned ecx = 0;
        unsigned edx = 0;
        return __get_cpuid_count(extended_features, 0, &eax, &ebx, &ecx, &edx) != 0 &&
               (ebx & clflushopt) != 0;
    }();
    return can;
}

__attribute__((target("clflushopt"))) void drop_from_caches(std::span<std::byte> memory) {
    auto* const end = memory.data() + memory.size();
    for (auto* line = memory.data() - place_in_line(memory.data()); line < end; line += line_bytes)
        _mm_clflushopt(line);
}

void store_past_caches(std::byte* to, std::byte const* from, std::uint64_t bytes) {
    if (bytes == 0) return;  // then there may be no memory
    auto const before_first_line = (line_bytes - place_in_line(to)) % line_bytes;
    auto at = std::min(before_first_line, bytes);
    std::memcpy(to, from, at);
    for (; bytes - at >= line_bytes; at += line_bytes)
        for (auto word = at; word < at + line_bytes; word += sizeof(__m128i))
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + word),
                             _mm_loadu_si128(reinterpret_cast<__m128i const*>(from + word)));
    std::memcpy(to + at, from + at, bytes - at);
}

void finish_stores_past_caches() { _mm_sfence(); }

#else

bool can_drop_from_caches() { return false; }
void drop_from_caches(std::span<std::byte> /*memory*/) {}

void store_past_caches(std::byte* to, std::byte const* from, std::uint64_t bytes) {
    std::memcpy(to, from, bytes);
}

void finish_stores_past_caches() {}

#endif

}  // namespace unisono
