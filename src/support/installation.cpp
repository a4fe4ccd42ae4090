#include "support/installation.hpp"

#include <cstdint>
#include <fstream>
#include <sstream>

namespace unisono {
namespace {

// The file that the code at this address was loaded from. dladdr() has only the name that somebody
// loaded it by: relative to an older working folder, or what argv[0] says.
std::string file_with(std::uintptr_t address) {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words{line};
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        words >> std::hex >> begin >> dash >> end;
        if (address < begin || address >= end) continue;
        auto const path = line.find('/');
        return path == std::string::npos ? "" : line.substr(path);
    }
    return {};
}

}  // namespace

std::string site_folder_of(std::string_view path) {
    auto const folder = path.substr(0, path.rfind('/'));
    auto const above = folder.rfind('/');
    if (!path.starts_with('/') || above == std::string_view::npos) return {};
    auto const prefix = folder.substr(0, above);
    return std::string{prefix == "/usr" ? "" : prefix} + "/etc";
}

std::string site_folder() {
    return site_folder_of(file_with(reinterpret_cast<std::uintptr_t>(&site_folder_of)));
}

}  // namespace unisono
