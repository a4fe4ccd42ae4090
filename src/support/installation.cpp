#include "support/installation.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace unisono {
namespace {

// The file that the code at this address was loaded from.
std::string file_in_maps(std::uintptr_t address) {
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

// The same, cheaper where somebody has loaded it by an absolute name: other names may be relative
// to an older working folder, or what argv[0] says.
std::string file_with(void const* address) {
    Dl_info info{};
    if (dladdr(address, &info) != 0 && info.dli_fname[0] == '/') {
        std::error_code missing;
        auto const path = std::filesystem::canonical(info.dli_fname, missing);
        if (!missing) return path.string();
    }
    return file_in_maps(reinterpret_cast<std::uintptr_t>(address));
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
    return site_folder_of(file_with(reinterpret_cast<void const*>(&site_folder_of)));
}

}  // namespace unisono
