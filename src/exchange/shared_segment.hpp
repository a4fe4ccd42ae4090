#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace unisono {

/// Zeroed memory shared by processes of one machine, under a name only until all have opened it.
/// Move-only; unmapped when destroyed. Space is taken when it is created, so that a full /dev/shm
/// is an empty segment and never a SIGBUS.
class SharedSegment {
public:
    SharedSegment() = default;
    SharedSegment(SharedSegment&& other) noexcept;
    SharedSegment& operator=(SharedSegment&& other) noexcept;
    ~SharedSegment();

    /// Creates a segment under a new name; empty when there is no room.
    static SharedSegment create(std::size_t bytes, std::string& name);
    /// Opens what another process has created; empty when it cannot.
    static SharedSegment open(std::string const& name, std::size_t bytes);
    /// Takes the name away; memory stays until the last process lets go.
    static void forget(std::string const& name);

    [[nodiscard]] std::span<std::byte> bytes() const { return memory_; }

private:
    static SharedSegment map(int descriptor, std::size_t bytes);

    std::span<std::byte> memory_;
};

}  // namespace unisono
