#include "support/cache_lines.hpp"

#include <cstdint>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace unisono {

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
    constexpr std::uintptr_t line_bytes = 64;
    auto* const end = memory.data() + memory.size();
    for (auto* line = memory.data() - reinterpret_cast<std::uintptr_t>(memory.data()) % line_bytes;
         line < end; line += line_bytes)
        _mm_clflushopt(line);
}

#else

bool can_drop_from_caches() { return false; }
void drop_from_caches(std::span<std::byte> /*memory*/) {}

#endif

}  // namespace unisono
