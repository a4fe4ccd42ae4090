#include "model/page_cache.hpp"

#include <cassert>
#include <vector>

namespace unisono::testbed {

PageCache::State PageCache::state(std::uint64_t page) const {
    auto const found = pages_.find(page);
    return found == pages_.end() ? State::absent : found->second.state;
}

void PageCache::begin_read(std::uint64_t page, std::uint64_t block) {
    assert(state(page) == State::absent);
    pages_[page] = {.state = State::reading, .block = block, .use = {}};
    evict();
}

void PageCache::begin_write(std::uint64_t page, std::uint64_t block) {
    auto& entry = pages_.at(page);
    assert(entry.state == State::dirty);
    no_longer_dirty(page, entry);
    entry.state = State::writing;
    entry.block = block;
}

void PageCache::end_block(std::uint64_t page, std::uint64_t block) {
    auto const found = pages_.find(page);
    if (found == pages_.end() || found->second.block != block) return;
    auto& entry = found->second;
    if (entry.state == State::writing) --unwritten_pages_;
    if (entry.state == State::writing || entry.state == State::reading) make_clean(page, entry);
    evict();
}

void PageCache::make_clean(std::uint64_t number, Page& page) {
    page.state = State::clean;
    page.use = clean_.insert(clean_.end(), number);
}

void PageCache::make_dirty(std::uint64_t page, std::uint64_t file) {
    auto& entry = pages_[page];
    if (entry.state == State::dirty) no_longer_dirty(page, entry);  // it may be another file's
    if (entry.state == State::clean) clean_.erase(entry.use);
    if (entry.state != State::dirty && entry.state != State::writing) ++unwritten_pages_;
    entry.state = State::dirty;
    entry.file = file;
    entry.block = 0;
    dirty_.insert(page);
    dirty_files_[file].insert(page);
    evict();
}

void PageCache::no_longer_dirty(std::uint64_t number, Page const& page) {
    dirty_.erase(number);
    auto const pages = dirty_files_.find(page.file);
    pages->second.erase(number);
    if (pages->second.empty()) dirty_files_.erase(pages);
}

void PageCache::touch(std::uint64_t page) {
    auto const found = pages_.find(page);
    if (found == pages_.end() || found->second.state != State::clean) return;
    clean_.splice(clean_.end(), clean_, found->second.use);
}

std::set<std::uint64_t> PageCache::blocks_writing(std::uint64_t file) const {
    std::set<std::uint64_t> blocks;
    for (auto const& [number, page] : pages_)
        if (page.state == State::writing && page.file == file) blocks.insert(page.block);
    return blocks;
}

void PageCache::evict() {
    while (pages_.size() > capacity_pages_ && !clean_.empty()) forget(clean_.front());
}

void PageCache::forget(std::uint64_t number) {
    auto const found = pages_.find(number);
    if (found->second.state == State::clean) clean_.erase(found->second.use);
    if (found->second.state == State::dirty) {
        --unwritten_pages_;
        no_longer_dirty(number, found->second);
    }
    pages_.erase(found);
}

void PageCache::drop_clean() {
    while (!clean_.empty()) forget(clean_.front());
}

void PageCache::discard(std::uint64_t first_page, std::uint64_t end_page) {
    std::vector<std::uint64_t> gone;
    auto const consider = [&](std::uint64_t number) {
        auto const now = state(number);
        if (now == State::clean || now == State::dirty) gone.push_back(number);
    };
    if (end_page - first_page < pages_.size()) {
        for (auto number = first_page; number < end_page; ++number) consider(number);
    } else {
        for (auto const& [number, page] : pages_)
            if (number >= first_page && number < end_page) consider(number);
    }
    for (auto const number : gone) forget(number);
}

}  // namespace unisono::testbed
