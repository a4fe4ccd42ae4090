#pragma once

#include <cstdint>
#include <string>

namespace unisono {

/// A number of bytes for people: exact, in the largest unit that divides it: "64 KiB".
inline std::string size_text(std::uint64_t bytes) {
    constexpr char const* units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
    std::size_t power = 0;
    while (bytes != 0 && bytes % 1024 == 0 && power + 1 < std::size(units)) {
        bytes /= 1024;
        ++power;
    }
    return std::to_string(bytes) + units[power];
}

}  // namespace unisono
