#include "execute/cached/own_writes.hpp"

#include <algorithm>
#include <cstring>

#include "exchange/coverage.hpp"

namespace unisono {

void OwnWrites::Bits::set(std::uint64_t begin, std::uint64_t end, bool value) {
    while (begin < end) {
        auto const next = std::min(end, round_up(begin + 1, 64));
        auto const bits = ones(begin % 64, (next - 1) % 64);
        auto& word = words_[begin / 64];
        word = value ? word | bits : word & ~bits;
        begin = next;
    }
}

void OwnWrites::put(std::uint64_t offset, std::byte const* data, std::uint64_t bytes,
                    bool in_file) {
    any_in_file_ = any_in_file_ || in_file;
    while (bytes > 0) {
        auto const at = offset % page_bytes;
        auto const part = std::min(bytes, page_bytes - at);
        auto& page = pages_[offset / page_bytes];
        if (page == nullptr) page = std::make_unique_for_overwrite<Page>();
        std::memcpy(page->data.data() + at, data, part);
        page->written.set(at, at + part, true);
        if (any_in_file_) page->in_file.set(at, at + part, in_file);
        offset += part;
        data += part;
        bytes -= part;
    }
}

template <class Use>
void OwnWrites::for_written(std::uint64_t offset, std::uint64_t bytes, Use&& use) const {
    auto const end = offset + bytes;
    for (auto entry = pages_.lower_bound(offset / page_bytes);
         entry != pages_.end() && entry->first * page_bytes < end; ++entry) {
        auto const begin = entry->first * page_bytes;
        auto const range = intersect(Extent{begin, begin + page_bytes}, {offset, end});
        for (auto at = range.begin; at < range.end; ++at)
            if (entry->second->written.test(at - begin))
                use(*entry->second, at - begin, at - offset);
    }
}

void OwnWrites::replace(std::uint64_t offset, std::byte const* data, std::uint64_t bytes) {
    for_written(offset, bytes, [&](Page& page, std::uint64_t at, std::uint64_t from) {
        page.data[at] = data[from];
        page.in_file.set(at, at + 1, true);
        any_in_file_ = true;
    });
}

void OwnWrites::overlay(std::uint64_t offset, std::byte* memory, std::uint64_t bytes) const {
    for_written(offset, bytes, [&](Page const& page, std::uint64_t at, std::uint64_t to) {
        memory[to] = page.data[at];
    });
}

std::vector<Transfer> OwnWrites::to_rewrite() {
    std::vector<Transfer> list;
    if (!any_in_file_) return list;
    for (auto& [number, page] : pages_)
        for (std::size_t at = 0; at < page_bytes; ++at) {
            if (!page->in_file.test(at)) continue;
            auto const offset = number * page_bytes + at;
            if (at > 0 && page->in_file.test(at - 1))
                ++list.back().bytes;
            else
                list.push_back({offset, page->data.data() + at, 1});
        }
    return list;
}

std::uint64_t OwnWrites::memory_bytes_for(Tiling const& view, Positions positions) {
    if (positions.empty()) return 0;
    auto const by_range = touched(view, positions).bytes() / page_bytes + 2;
    auto const by_pieces = 2 * piece_estimate(view, positions) + positions.bytes() / page_bytes;
    return std::min(by_range, by_pieces) * sizeof(Page);
}

void OwnWrites::clear() {
    pages_.clear();
    any_in_file_ = false;
}

}  // namespace unisono
