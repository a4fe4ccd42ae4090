#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "unisono/backend.hpp"
#include "unisono/view.hpp"

namespace unisono {

/// What one rank has written since the last drain, latest value of each byte: for its own
/// independent reads where another node holds the bytes. Sparse, in pages.
class OwnWrites {
public:
    static constexpr std::uint64_t page_bytes = 4096;

    /// `in_file`: an independent write that has reached the file; a drain may overwrite it there.
    void put(std::uint64_t offset, std::byte const* data, std::uint64_t bytes, bool in_file);
    /// Puts this rank's bytes of [offset, offset + bytes) over what was read from the file.
    void overlay(std::uint64_t offset, std::byte* memory, std::uint64_t bytes) const;

    /// There are independent writes.
    [[nodiscard]] bool any_in_file() const { return any_in_file_; }
    /// Those, as a list that writes them once more; it refers to this object.
    [[nodiscard]] std::vector<Transfer> to_rewrite();

    [[nodiscard]] std::uint64_t memory_bytes() const { return pages_.size() * sizeof(Page); }
    /// Memory that a collective write may take, at most. Cost: O(1).
    static std::uint64_t memory_bytes_for(Tiling const& view, Positions positions);
    void clear();

private:
    struct Page {
        std::array<std::byte, page_bytes> data;
        std::bitset<page_bytes> written;
        std::bitset<page_bytes> in_file;
    };

    std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
    bool any_in_file_ = false;
};

}  // namespace unisono
