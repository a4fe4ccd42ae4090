#include "devices/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "devices/drivers.hpp"

namespace unisono {
namespace {

// Level Zero is not among them: zeMemGetAllocProperties() wants the program's own context.
struct Driver {
    std::string_view library;  // how the file's name begins
    std::unique_ptr<DeviceMemory> (*make)(void* library);
};
constexpr std::array drivers{Driver{"libcuda.so.", make_cuda}, Driver{"libamdhip64.so", make_hip}};

// What has been found stays: it keeps its library loaded.
struct Found {
    std::atomic<unsigned long long> loads_seen = 0;
    std::mutex mutex;
    std::array<std::atomic<DeviceMemory const*>, drivers.size()> memory{};
};

Found& found() {
    static auto* const found = new Found;  // files may be used until the very end of the process
    return *found;
}

unsigned long long loads_so_far() {
    unsigned long long loads = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            *static_cast<unsigned long long*>(result) = info->dlpi_adds;
            return 1;  // every object says the same
        },
        &loads);
    return loads;
}

// No exception goes through the C library, which holds a lock meanwhile.
std::vector<std::string> loaded_libraries() {
    std::vector<std::string> paths;
    auto const missed = dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            try {
                static_cast<std::vector<std::string>*>(result)->emplace_back(info->dlpi_name);
            } catch (std::bad_alloc const&) {
                return 1;
            }
            return 0;
        },
        &paths);
    if (missed != 0) throw std::bad_alloc{};
    return paths;
}

void look_for(std::size_t driver, std::string const& path) {
    auto const name = std::string_view{path}.substr(path.rfind('/') + 1);
    if (!name.starts_with(drivers[driver].library)) return;
    auto* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) found().memory[driver] = drivers[driver].make(library).release();
}

// A program may load a driver at any time.
void look_if_something_was_loaded() {
    auto const loads = loads_so_far();
    if (loads == found().loads_seen.load(std::memory_order_acquire)) return;
    std::lock_guard const lock{found().mutex};
    for (auto const& path : loaded_libraries())
        for (std::size_t driver = 0; driver < drivers.size(); ++driver)
            if (found().memory[driver] == nullptr) look_for(driver, path);
    found().loads_seen.store(loads, std::memory_order_release);
}

std::uintptr_t address_of(Placed const& data, std::uint64_t position) {
    return data.base + static_cast<std::uintptr_t>(offset_of(data.tiling, position));
}

}  // namespace

bool any_driver() {
    look_if_something_was_loaded();
    return any_driver_found();
}

bool any_driver_found() {
    return std::ranges::any_of(found().memory,
                               [](auto const& memory) { return memory != nullptr; });
}

DeviceMemory const* device_of(Placed const& data) {
    if (!any_driver()) return nullptr;
    for (auto const& entry : found().memory) {
        auto const* const memory = entry.load(std::memory_order_acquire);
        if (memory == nullptr || data.positions.empty()) continue;
        if (memory->holds(address_of(data, data.positions.begin)) ||
            memory->holds(address_of(data, data.positions.end - 1)))
            return memory;
    }
    return nullptr;
}

bool copy_packed(DeviceMemory const& device, Direction direction, Placed const& data,
                 std::byte* packed) {
    bool good = true;
    walk_runs(data.tiling, data.positions, [&](PieceRun const& run) {
        auto* const at = data.at(run.offset);
        auto const bytes = static_cast<std::int64_t>(run.bytes);
        if (device.holds(data.base + static_cast<std::uintptr_t>(run.offset)))
            good = good && device.copy(direction, data.base, run, packed);
        else if (direction == Direction::write)
            copy_pieces(packed, bytes, at, run.stride, run.bytes, run.count);
        else
            copy_pieces(at, run.stride, packed, bytes, run.bytes, run.count);
        packed += run.bytes * run.count;
    });
    return good;
}

bool can_copy(DeviceMemory const& device, Placed const& data) {
    std::byte copy{};
    auto const first = data.positions.begin;
    return copy_packed(device, Direction::write, {data.tiling, {first, first + 1}, data.base},
                       &copy);
}

}  // namespace unisono
