#pragma once

#include <array>
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
    /// The same for those bytes only that were put before: the file has newer ones.
    void replace(std::uint64_t offset, std::byte const* data, std::uint64_t bytes);
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
    /// Calls use(page, at, offset) for each byte of [offset, offset + bytes) that was put.
    template <class Use>
    void for_written(std::uint64_t offset, std::uint64_t bytes, Use&& use) const;

    /// One bit for each byte of a page.
    class Bits {
    public:
        [[nodiscard]] bool test(std::uint64_t at) const { return (words_[at / 64] >> at % 64) & 1; }
        void set(std::uint64_t begin, std::uint64_t end, bool value);

    private:
        std::array<std::uint64_t, page_bytes / 64> words_{};
    };
    struct Page {
        std::array<std::byte, page_bytes> data;  // what is not written is not initialised either
        Bits written;
        Bits in_file;
    };

    std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
    bool any_in_file_ = false;
};

}  // namespace unisono
