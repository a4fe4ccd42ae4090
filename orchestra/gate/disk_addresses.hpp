#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "orchestra/gate/slot.hpp"
#include "unisono/backend.hpp"
#include "unisono/layout.hpp"

namespace unisono::orchestra {

/// Where a file's bytes are, as well as a client can know it: on the disk of a local file system
/// (FIEMAP), in a server's object (layout), or in the file only. Thread-safe.
class DiskAddresses {
public:
    /// At most so many stripe units of an access are looked at one by one.
    static constexpr std::size_t units_max = 256;
    /// So many servers of an access are told apart; the last one has the others' bytes, too. Else
    /// accesses to many would have no room in a process's ring, and nobody would know of them.
    static constexpr std::size_t servers_of_access_max = 32;

    /// `descriptor` stays open meanwhile. `file` tells files apart: those that have no address on a
    /// disk of `capacity_bytes` are taken to begin anywhere on it.
    DiskAddresses(int descriptor, std::uint64_t file, double capacity_bytes);

    /// From now on; an unknown one changes nothing.
    void use(Layout const& layout);

    /// What an access to these bytes is at each server. Cost: O(transfers), and for a layout
    /// O(units), both up to units_max; asks the file system for a map of the file when it has
    /// grown, once a second at most.
    std::vector<DiskAddress> of(std::span<Transfer const> list);

private:
    struct Stretch {
        std::uint64_t begin = 0;  ///< file bytes
        std::uint64_t end = 0;
        std::uint64_t address = 0;
    };

    [[nodiscard]] DiskAddress address_of(std::uint64_t offset);
    [[nodiscard]] bool mapped(std::uint64_t offset);
    void ask_file_system();
    [[nodiscard]] std::uint64_t unit_end(std::uint64_t offset) const;

    int descriptor_;
    std::uint64_t base_;  // of a file without an address of its own
    std::uint64_t capacity_bytes_;
    std::mutex mutex_;
    std::optional<Layout> layout_;
    bool has_map_ = true;  // until the file system says that it has none
    std::int64_t asked_s_ = -1;
    std::vector<Stretch> map_;  // ascending
};

}  // namespace unisono::orchestra
