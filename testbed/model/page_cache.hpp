#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <unordered_map>

namespace unisono::testbed {

/// Which pages of its disk a server has in memory. Only a ledger: it starts no I/O.
///
/// A page is a number: disk bytes / page_bytes. Clean pages leave in the order of their last use.
class PageCache {
public:
    static constexpr std::uint64_t page_bytes = 4096;

    enum class State : std::uint8_t { absent, reading, clean, dirty, writing };

    explicit PageCache(std::uint64_t capacity_bytes)
        : capacity_pages_(capacity_bytes / page_bytes) {}

    [[nodiscard]] State state(std::uint64_t page) const;
    /// The block request that a page in state reading or writing waits for.
    [[nodiscard]] std::uint64_t block(std::uint64_t page) const { return pages_.at(page).block; }

    void begin_read(std::uint64_t page, std::uint64_t block);
    void begin_write(std::uint64_t page, std::uint64_t block);  ///< of a dirty page
    /// The block request is done. A page that was written to meanwhile stays dirty.
    void end_block(std::uint64_t page, std::uint64_t block);
    void make_dirty(std::uint64_t page, std::uint64_t file);
    void touch(std::uint64_t page);

    /// All dirty pages, ascending.
    [[nodiscard]] std::set<std::uint64_t> const& dirty() const { return dirty_; }
    /// Dirty pages of each file that has any, ascending.
    using DirtyFiles = std::map<std::uint64_t, std::set<std::uint64_t>>;
    [[nodiscard]] DirtyFiles const& dirty_files() const { return dirty_files_; }
    /// Dirty or on the way to the drive.
    [[nodiscard]] std::uint64_t unwritten_bytes() const { return unwritten_pages_ * page_bytes; }
    [[nodiscard]] std::uint64_t file(std::uint64_t page) const { return pages_.at(page).file; }
    /// Pages of a file that are on the way to the drive. Cost: O(all pages).
    [[nodiscard]] std::set<std::uint64_t> blocks_writing(std::uint64_t file) const;

    void drop_clean();
    /// The disk bytes no longer belong to a file: clean and dirty pages are forgotten.
    void discard(std::uint64_t first_page, std::uint64_t end_page);

private:
    struct Page {
        State state = State::absent;
        std::uint64_t file = 0;
        std::uint64_t block = 0;
        std::list<std::uint64_t>::iterator use;  // only while clean
    };

    void make_clean(std::uint64_t number, Page& page);
    void no_longer_dirty(std::uint64_t number, Page const& page);
    void forget(std::uint64_t number);
    void evict();

    std::uint64_t capacity_pages_;
    std::unordered_map<std::uint64_t, Page> pages_;
    std::list<std::uint64_t> clean_;  // the longest unused first
    std::set<std::uint64_t> dirty_;
    DirtyFiles dirty_files_;
    std::uint64_t unwritten_pages_ = 0;
};

}  // namespace unisono::testbed
