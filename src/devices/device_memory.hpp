#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "access/copy.hpp"

namespace unisono {

/// A driver, as far as Unisono needs one: which memory only the device can access, and how it is
/// copied. The program must have waited for what it lets the device do with that memory, as for any
/// call of MPI. Thread-safe.
class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;

    /// The driver's function that copies, for messages: a string literal.
    [[nodiscard]] virtual char const* copy_call() const = 0;

    /// The CPU cannot access this address, the device can.
    [[nodiscard]] virtual bool holds(std::uintptr_t address) const = 0;

    /// Copies the pieces at `base` + run to (write) or from (read) host memory, where they lie side
    /// by side, and returns when they are there. False when the driver refuses.
    [[nodiscard]] virtual bool copy(Direction direction, std::uintptr_t base, PieceRun const& run,
                                    std::byte* packed) const = 0;

    /// Lets the device of the memory at `address` access host memory by itself, until unpin.
    /// Copies are four times as fast then, of pieces of 24 bytes a hundred times (CUDA 13, H200).
    /// False when the driver refuses or has no such thing. Cost, with unpin: 0.4 ms for 4 MiB.
    [[nodiscard]] virtual bool pin(std::uintptr_t /*address*/,
                                   std::span<std::byte> /*host*/) const {
        return false;
    }
    virtual void unpin(std::uintptr_t /*address*/, std::span<std::byte> /*host*/) const {}
};

/// The program has loaded a driver that Unisono knows. Cost: 20 ns; after the program has loaded
/// any library: once a few microseconds.
bool any_driver();

/// One had been found when any_driver() was asked last. Cost: two loads.
bool any_driver_found();

/// The driver in whose memory the first or the last byte of some data is; null when both are the
/// CPU's, or of a driver that Unisono does not know. Cost: any_driver(), and up to four questions.
DeviceMemory const* device_of(Placed const& data);

/// Copies data to (write) or from (read) host memory, where it lies side by side, run by run; some
/// of it may be the CPU's. False when the driver refuses. Cost: a call of the driver for each
/// regular run of pieces.
[[nodiscard]] bool copy_packed(DeviceMemory const& device, Direction direction, Placed const& data,
                               std::byte* packed);

/// Whether the driver copies this data: it has been asked for the first byte.
[[nodiscard]] bool can_copy(DeviceMemory const& device, Placed const& data);

}  // namespace unisono
