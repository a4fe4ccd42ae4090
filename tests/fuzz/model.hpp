#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace fuzz {

/// The reference: what one file may hold, byte by byte, according to MPI's default consistency.
///
/// A byte is *settled* (everyone sees it), or *pending*: written by some rank since the last
/// sync-barrier-sync. The writer sees its own value; others may see any value that was there since
/// the last settling. Where several ranks wrote, any of their values may stay. Sparse: pages are
/// made when touched, so offsets beyond 2^40 cost nothing. Ranks are those of the communicator.
class FileModel {
public:
    /// Nobody's rank: it may find what any of the others may.
    static constexpr int stranger = -3;

    static constexpr int ranks_most = 64;  ///< one bit each says who has read
    explicit FileModel(int ranks);

    /// Bytes that nobody wrote may hold anything: natively, ROMIO's read-modify-write fills holes
    /// beyond the old end of the file with what its buffer held before.
    void let_holes_be_anything() { vague_holes_ = true; }

    /// Rank wrote `data` at `offset`. Cost: O(bytes).
    void write(int rank, std::uint64_t offset, std::span<std::uint8_t const> data);
    /// Rank tried to write and failed: each byte may be old or new from now on.
    void perhaps_write(int rank, std::uint64_t offset, std::span<std::uint8_t const> data);
    /// What is pending from `offset` on may be lost: each byte may be old or new, and the file as
    /// long as it was.
    void doubt_from(std::uint64_t offset);
    /// sync-barrier-sync, or close.
    void settle();
    /// Everyone sees what anyone has written, as after settling. Of the file's size that is not
    /// said.
    void show();
    /// The file's size is set, cutting off or adding zeros. On a model that is not settled only to
    /// size_most() or more.
    void resize(std::uint64_t size_bytes);
    /// Everything is known again: the file holds exactly `offset` -> `data` within its pages.
    void adopt(std::uint64_t size_bytes, std::uint64_t offset, std::span<std::uint8_t const> data);

    /// May `rank` find `actual` at `offset`?
    [[nodiscard]] bool allows(int rank, std::uint64_t offset, std::uint8_t actual) const;
    /// One value that `rank` may find, for messages.
    [[nodiscard]] std::uint8_t expected(int rank, std::uint64_t offset) const;

    /// Sizes that `rank` may see: [least, most].
    [[nodiscard]] std::uint64_t size_least(int rank) const;
    [[nodiscard]] std::uint64_t size_most() const;
    [[nodiscard]] bool size_is_certain() const;
    /// Nobody has written anything since the last settling.
    [[nodiscard]] bool is_settled() const;

    // Reads that have not been separated from later writes by a barrier.
    void note_read(int rank, std::uint64_t offset, std::uint64_t bytes);
    void note_size_read(int rank) { size_readers_ |= bit_of(rank); }
    /// Would a write of `rank` race with an earlier read of another rank?
    [[nodiscard]] bool races(int rank, std::uint64_t offset, std::uint64_t bytes) const;
    void barrier();

    static constexpr std::uint64_t page_bytes = 4096;
    /// Offsets of the pages that were ever touched, ascending.
    [[nodiscard]] std::vector<std::uint64_t> page_offsets() const;

private:
    static constexpr std::int8_t settled = -1;
    static constexpr std::int8_t complicated = -2;  ///< see ambiguous_

    struct Page {
        std::array<std::uint8_t, page_bytes> value{};
        std::array<std::uint8_t, page_bytes> previous{};
        std::array<std::int8_t, page_bytes> owner{};
        std::array<std::uint64_t, page_bytes> readers{};
        std::bitset<page_bytes> known;  ///< was there before, or was written
        bool pending = false;
        bool read = false;
        Page() { owner.fill(settled); }
    };

    struct Ambiguous {
        std::bitset<256> before;   ///< since the last settling
        std::bitset<256> written;  ///< pending
        int sole_writer = settled;
        std::uint8_t value = 0;     ///< what the sole writer sees
        bool value_certain = true;  ///< false once the sole writer's last write failed
    };

    static std::uint64_t bit_of(int rank) { return std::uint64_t{1} << rank; }
    Page& page(std::uint64_t offset);
    [[nodiscard]] Page const* find_page(std::uint64_t offset) const;
    void write_byte(Page& page, std::uint64_t offset, int rank, std::uint8_t value, bool certain);
    Ambiguous& make_ambiguous(Page& page, std::uint64_t offset);
    void grow(int rank, std::uint64_t end, bool certain);
    template <class Visit>
    void for_each_page(std::uint64_t offset, std::uint64_t bytes, Visit&& visit);

    std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
    std::unordered_map<std::uint64_t, Ambiguous> ambiguous_;
    std::uint64_t settled_size_ = 0;
    std::uint64_t settled_size_most_ = 0;
    std::vector<std::uint64_t> own_end_;  ///< end of each rank's pending writes
    std::uint64_t perhaps_end_ = 0;       ///< end of the failed ones
    std::uint64_t size_readers_ = 0;
    bool vague_holes_ = false;
};

}  // namespace fuzz
