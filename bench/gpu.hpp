#pragma once

#include <cstddef>
#include <span>

namespace bench {

/// Memory of the node's first GPU, by CUDA's driver, which is loaded when the first is made.
/// Throws std::runtime_error when there is none, or when it refuses.
class GpuMemory {
public:
    explicit GpuMemory(std::size_t bytes);
    ~GpuMemory();
    GpuMemory(GpuMemory const&) = delete;
    GpuMemory& operator=(GpuMemory const&) = delete;

    /// Where it is: for the driver, and for libraries that know GPUs.
    [[nodiscard]] std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }

    /// Copies to `offset` on, or from there. Cost: what the bus allows to `host` if that is pinned.
    void put(std::size_t offset, std::span<std::byte const> host);
    void get(std::size_t offset, std::span<std::byte> host) const;

private:
    unsigned long long address_ = 0;
};

/// Pins memory of the host while it lives, as programs do that copy often.
class Pinned {
public:
    explicit Pinned(std::span<std::byte> host);
    ~Pinned();
    Pinned(Pinned const&) = delete;
    Pinned& operator=(Pinned const&) = delete;

private:
    void* host_;
};

}  // namespace bench
