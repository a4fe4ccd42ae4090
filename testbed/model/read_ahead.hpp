#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace unisono::testbed {

/// Pages [begin, end) of a server's disk.
struct PageRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// How a server's kernel reads ahead.
enum class ReadAheadKind : std::uint8_t {
    windows,    ///< Linux until 2.6.22: a current window and one ahead, for an unbroken stream only
    on_demand,  ///< 2.6.24 to 2.6.30: marked pages start the next window, also of several streams
    context,    ///< 2.6.31 to 3.11: a stream is also known by the pages that it left in memory
    careful_context,  ///< 3.12 and later: by more pages than it asks for, and it gets fewer
};

/// By the name that profiles use; nothing for any other.
std::optional<ReadAheadKind> read_ahead_kind(std::string_view name);

/// What is known of a file when it is read.
struct FilePages {
    bool at_start = false;    ///< the request begins with the file's first page
    std::uint64_t end = 0;    ///< the file's pages go on contiguously up to here
    std::uint64_t limit = 0;  ///< pages of the longest window; 0: no reading ahead
};

/// A server's memory, as its kernel uses it while it reads one request.
class PagesInMemory {
public:
    PagesInMemory() = default;
    PagesInMemory(PagesInMemory const&) = delete;
    PagesInMemory& operator=(PagesInMemory const&) = delete;
    virtual ~PagesInMemory() = default;

    /// There, or on its way.
    [[nodiscard]] virtual bool has(std::uint64_t page) const = 0;
    /// Starts reading those that are absent. How many these were.
    virtual std::uint64_t read(PageRange range) = 0;
};

/// What a kernel remembers of one open file to read ahead.
///
/// Source: Linux mm/readahead.c and mm/filemap.c of the versions that ReadAheadKind names.
/// Differs: all of a request is asked for at once, while the kernel waits for each page before it
/// looks at the next; congestion of the queue is not noticed; `careful_context` does not widen its
/// windows for long requests (4.10).
class ReadAhead {
public:
    ReadAhead() = default;
    ReadAhead(ReadAhead const&) = delete;
    ReadAhead& operator=(ReadAhead const&) = delete;
    virtual ~ReadAhead() = default;

    /// A request for these pages. Starts reading what the kernel would, which may leave out some of
    /// them where `file.limit` is 0.
    virtual void on_read(PageRange request, FilePages const& file, PagesInMemory& memory) = 0;
};

std::unique_ptr<ReadAhead> make_read_ahead(ReadAheadKind kind);

}  // namespace unisono::testbed
