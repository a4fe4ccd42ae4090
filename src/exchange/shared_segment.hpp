#pragma once

#include <cstddef>
#include <span>

namespace unisono {

/// Zeroed memory shared by processes of one machine. It has no name anywhere, so that nothing is
/// left of it when they are killed, and its size is sealed, so that no process can take pages away
/// from the others. It counts as memory of the job, not against the room in /dev/shm.
/// Move-only; unmapped when destroyed. To be used when every part of it has been taken: then memory
/// that is not to be had is known, and never a SIGBUS.
class SharedSegment {
public:
    SharedSegment() = default;
    SharedSegment(SharedSegment&& other) noexcept;
    SharedSegment& operator=(SharedSegment&& other) noexcept;
    ~SharedSegment();

    /// Creates a segment; empty when it cannot.
    static SharedSegment create(std::size_t bytes);
    /// Maps what another process has created and handed over (DescriptorSocket). Closes the
    /// descriptor in the end; empty when it cannot, or there is none (-1).
    static SharedSegment open(int descriptor, std::size_t bytes);
    /// To be handed to the other processes, before a part has been taken.
    [[nodiscard]] int descriptor() const { return descriptor_; }
    /// Takes space for one of `parts` equal parts; false when there is no room. Processes that take
    /// one each do it at the same time, and have their part's pages near them. Once for a segment.
    /// Cost: about 1 ms per MiB.
    bool take_part(std::size_t index, std::size_t parts);

    [[nodiscard]] std::span<std::byte> bytes() const { return memory_; }

private:
    int descriptor_ = -1;  // until a part has been taken
    std::span<std::byte> memory_;
};

}  // namespace unisono
