#pragma once

#include <array>
#include <fstream>
#include <optional>
#include <string>

namespace unisono {

/// All of a file; nothing where it cannot be opened, or read to its end: a directory, a process
/// that has ended. (Iterators over the stream would throw there.)
inline std::optional<std::string> file_content(std::string const& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) return std::nullopt;
    std::string content;
    std::array<char, 4096> part{};
    do {
        file.read(part.data(), part.size());
        content.append(part.data(), static_cast<std::size_t>(file.gcount()));
    } while (file);
    if (file.bad()) return std::nullopt;
    return content;
}

}  // namespace unisono
