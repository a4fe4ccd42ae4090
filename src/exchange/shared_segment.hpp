#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace unisono {

/// Zeroed memory shared by processes of one machine, under a name only until all have opened it.
/// Move-only; unmapped when destroyed. To be used when every part of it has been taken: then a full
/// /dev/shm is known, and never a SIGBUS.
class SharedSegment {
public:
    SharedSegment() = default;
    SharedSegment(SharedSegment&& other) noexcept;
    SharedSegment& operator=(SharedSegment&& other) noexcept;
    ~SharedSegment();

    /// Creates a segment under a new name; empty when it cannot.
    static SharedSegment create(std::size_t bytes, std::string& name);
    /// Opens what another process has created; empty when it cannot.
    static SharedSegment open(std::string const& name, std::size_t bytes);
    /// Takes space for one of `parts` equal parts; false when there is no room. Processes that take
    /// one each do it at the same time, and have their part's pages near them. Once for a segment.
    /// Cost: about 1 ms per MiB.
    bool take_part(std::size_t index, std::size_t parts);
    /// Takes the name away; memory stays until the last process lets go.
    static void forget(std::string const& name);

    [[nodiscard]] std::span<std::byte> bytes() const { return memory_; }

private:
    static SharedSegment map(int descriptor, std::size_t bytes);

    int descriptor_ = -1;  // until a part has been taken
    std::span<std::byte> memory_;
};

}  // namespace unisono
