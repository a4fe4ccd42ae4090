#pragma once

#include <dlfcn.h>

#include <limits>
#include <memory>

#include "devices/device_memory.hpp"

namespace unisono {

// Null when the library lacks something.
std::unique_ptr<DeviceMemory> make_cuda(void* library);
std::unique_ptr<DeviceMemory> make_hip(void* library);

template <class Function>
bool find_function(void* library, char const* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

/// Copies a run by `rows(address, pitch)` at once, where drivers can, else by `piece(address,
/// packed)`, one by one, until one says false.
template <class Rows, class Piece>
bool copy_run(std::uintptr_t base, PieceRun const& run, std::byte* packed, Rows&& rows,
              Piece&& piece) {
    constexpr auto pitch_max = std::numeric_limits<std::int32_t>::max();
    auto at = base + static_cast<std::uintptr_t>(run.offset);
    if (run.count > 1 && run.stride >= static_cast<std::int64_t>(run.bytes) &&
        run.stride <= pitch_max)
        return rows(at, static_cast<std::size_t>(run.stride));
    for (std::uint64_t i = 0; i < run.count; ++i) {
        if (!piece(at, packed)) return false;
        at += static_cast<std::uintptr_t>(run.stride);
        packed += run.bytes;
    }
    return true;
}

}  // namespace unisono
