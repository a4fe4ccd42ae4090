#include <dirent.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "unisono/topology.hpp"

namespace unisono {
namespace {

namespace fs = std::filesystem;

// Not by fs::directory_iterator, which ends the program where there is no memory.
std::vector<fs::path> entries(fs::path const& folder) {
    std::unique_ptr<DIR, decltype([](DIR* open) { closedir(open); })> const listing{
        opendir(folder.c_str())};
    std::vector<fs::path> found;
    while (auto const* const entry = listing ? readdir(listing.get()) : nullptr)
        if (std::string_view const name{entry->d_name}; name != "." && name != "..")
            found.push_back(folder / name);
    return found;
}

template <class Value>
Value read_value(fs::path const& path, Value otherwise) {
    std::ifstream file{path};
    Value value{};
    return file >> value ? value : otherwise;
}

// Physical interfaces that are up have a device behind them; slower ones are for managing.
std::uint32_t fastest_interfaces(fs::path const& net) {
    std::uint32_t count = 0;
    long fastest = -2;
    for (auto const& interface : entries(net)) {
        std::error_code error;
        if (!fs::exists(interface / "device", error)) continue;
        if (read_value<std::string>(interface / "operstate", "") != "up") continue;
        auto const speed = read_value<long>(interface / "speed", -1);
        if (speed > fastest) count = 0;
        if (speed >= fastest) ++count;
        fastest = std::max(fastest, speed);
    }
    return count;
}

}  // namespace

Machine read_machine(std::string const& sys) {
    auto const infiniband = static_cast<std::uint32_t>(entries(sys + "/class/infiniband").size());
    std::uint32_t numa_nodes = 0;
    for (auto const& entry : entries(sys + "/devices/system/node")) {
        auto const name = entry.filename().string();
        numa_nodes += name.starts_with("node") && name.size() > 4 &&
                      name.find_first_not_of("0123456789", 4) == std::string::npos;
    }
    auto const nics = infiniband > 0 ? infiniband : fastest_interfaces(sys + "/class/net");
    return {std::max(nics, 1U), std::max(numa_nodes, 1U)};
}

}  // namespace unisono
