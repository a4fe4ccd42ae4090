#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/sector_set.hpp"

namespace unisono::testbed {

/// Round-robin striping of one file.
struct Striping {
    /// So that a row of units over all servers of a file system is still a number.
    static constexpr std::uint64_t stripe_bytes_max = std::uint64_t{1} << 50;

    std::uint64_t stripe_bytes = 65536;
    std::uint32_t servers = 1;  ///< the file is on so many
    std::uint32_t first = 0;    ///< the server of its first unit

    friend bool operator==(Striping const&, Striping const&) = default;
};

/// "stripe_bytes=65536,servers=4,first=0"; as layouts/layout_text.hpp reads it.
std::string show(Striping const& striping);
/// Nothing if the text is not one of show().
std::optional<Striping> parse_striping(std::string const& text);

/// Contiguous bytes of the object that one server has of a file.
struct ObjectPiece {
    std::uint32_t server = 0;  ///< of all servers of the file system
    std::uint64_t object_offset = 0;
    std::uint64_t bytes = 0;
};

/// One piece per server for contiguous file bytes, because units that follow each other on a server
/// do so in its object. Pieces begin in the order of their file offsets.
///
/// Cost: O(servers), however short the units are.
///
/// @param all_servers  servers of the file system, at least those of the file: numbers wrap around
std::vector<ObjectPiece> split(Striping const& striping, std::uint32_t all_servers,
                               std::uint64_t offset, std::uint64_t bytes);

/// Bytes of a file of `file_bytes` in the object of the server `index` places after the first.
std::uint64_t object_bytes(Striping const& striping, std::uint64_t file_bytes, std::uint32_t index);

/// Where a file's objects are on the disks: the same on each of its servers.
class DiskMap {
public:
    struct Run {
        std::uint64_t address = 0;  ///< disk byte
        std::uint64_t bytes = 0;
    };

    /// Where `object_offset` is, and how far it goes on contiguously; nothing: never written.
    [[nodiscard]] std::optional<Run> find(std::uint64_t object_offset) const;

    void add(std::uint64_t object_offset, Run run);
    /// Takes out what lies at and behind `object_bytes`; returns it.
    std::vector<Run> trim(std::uint64_t object_bytes);

    /// Runs by object offset.
    [[nodiscard]] std::map<std::uint64_t, Run> const& runs() const { return runs_; }

private:
    std::map<std::uint64_t, Run> runs_;
};

/// "object_offset:address:bytes" for each run, separated by blanks.
std::string show(DiskMap const& map);
std::optional<DiskMap> parse_disk_map(std::string const& text);

/// The free bytes of the disks, which are used alike. Not safe for several threads.
class DiskSpace {
public:
    explicit DiskSpace(std::uint64_t capacity_bytes);

    /// Bytes [result, result + bytes), the first free ones at or behind `goal`, else at or behind
    /// 0.
    std::optional<std::uint64_t> take(std::uint64_t goal, std::uint64_t bytes);
    /// These are in use already.
    void reserve(std::uint64_t address, std::uint64_t bytes);
    void give(std::uint64_t address, std::uint64_t bytes);

    [[nodiscard]] std::uint64_t free_bytes() const { return free_.sectors(); }
    [[nodiscard]] std::uint64_t capacity_bytes() const { return capacity_bytes_; }

private:
    std::uint64_t capacity_bytes_;
    SectorSet free_;  // counts bytes here
};

/// Makes sure that object bytes [begin, end) have a place, in whole chunks.
///
/// @param goal  where the first chunk of an empty map goes, if it is free
/// @return false if the disks are full: what was placed stays placed
bool place(DiskMap& map, DiskSpace& space, std::uint64_t begin, std::uint64_t end,
           std::uint64_t chunk_bytes, std::uint64_t goal);

}  // namespace unisono::testbed
