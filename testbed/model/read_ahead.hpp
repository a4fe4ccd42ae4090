#pragma once

#include <cstdint>
#include <optional>

namespace unisono::testbed {

/// Pages [begin, end) that a server reads into its cache.
struct PageRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// What a kernel remembers of one open file to read ahead: the window that it read last, and the
/// page in it whose use starts the next window.
///
/// Source: Linux mm/readahead.c, "on-demand readahead" of 2.6.23 and later: windows double up to
/// the limit; the next one is read when the first page of the part that was read ahead is used.
/// Differs: interleaved streams in one file are not recognised (as before 2.6.32).
class ReadAhead {
public:
    /// A request for pages [begin, end) of the file's disk pages.
    ///
    /// @param at_start     begin is the file's first page
    /// @param miss         one of the pages is not in the cache
    /// @param readable_end  the file's pages go on contiguously up to here
    /// @param limit_pages  the longest window; 0 turns reading ahead off
    /// @return what to read besides the request, or instead of it; it may be in the cache already
    std::optional<PageRange> on_read(PageRange request, bool at_start, bool miss,
                                     std::uint64_t readable_end, std::uint64_t limit_pages);

private:
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

    std::uint64_t previous_end_ = nowhere;
    std::uint64_t window_end_ = 0;
    std::uint64_t window_pages_ = 0;
    std::uint64_t marker_ = nowhere;
};

}  // namespace unisono::testbed
