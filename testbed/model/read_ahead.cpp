#include "model/read_ahead.hpp"

#include <algorithm>
#include <bit>

namespace unisono::testbed {

namespace {

std::uint64_t first_window(std::uint64_t request_pages, std::uint64_t limit_pages) {
    auto const pages = std::bit_ceil(request_pages);
    if (pages <= limit_pages / 32) return pages * 4;
    if (pages <= limit_pages / 4) return pages * 2;
    return std::max(limit_pages, request_pages);
}

std::uint64_t next_window(std::uint64_t pages, std::uint64_t limit_pages) {
    return std::min(pages < limit_pages / 16 ? pages * 4 : pages * 2, limit_pages);
}

}  // namespace

std::optional<PageRange> ReadAhead::on_read(PageRange request, bool at_start, bool miss,
                                            std::uint64_t readable_end, std::uint64_t limit_pages) {
    if (limit_pages == 0) return {};
    bool const sequential = at_start || request.begin == previous_end_;
    previous_end_ = request.end;
    if (marker_ >= request.begin && marker_ < request.end) {
        auto const begin = std::max(window_end_, request.begin);
        window_pages_ = next_window(window_pages_, limit_pages);
        window_end_ = std::min(begin + window_pages_, readable_end);
        marker_ = begin < window_end_ ? begin : nowhere;
        return PageRange{begin, window_end_};
    }
    if (!miss || !sequential) return {};
    auto const request_pages = request.end - request.begin;
    window_pages_ = first_window(request_pages, limit_pages);
    window_end_ = std::min(request.begin + window_pages_, readable_end);
    marker_ = window_pages_ > request_pages ? request.end : request.begin;
    if (marker_ >= window_end_) marker_ = nowhere;
    return PageRange{request.begin, window_end_};
}

}  // namespace unisono::testbed
