#include "model.hpp"

#include <algorithm>
#include <stdexcept>

namespace fuzz {

FileModel::FileModel(int ranks) : own_end_(static_cast<std::size_t>(ranks), 0) {
    if (ranks > ranks_most) throw std::length_error{"the fuzzer's model is for fewer ranks"};
}

FileModel::Page& FileModel::page(std::uint64_t offset) {
    auto& slot = pages_[offset / page_bytes];
    if (!slot) slot = std::make_unique<Page>();
    return *slot;
}

FileModel::Page const* FileModel::find_page(std::uint64_t offset) const {
    auto const found = pages_.find(offset / page_bytes);
    return found == pages_.end() ? nullptr : found->second.get();
}

template <class Visit>
void FileModel::for_each_page(std::uint64_t offset, std::uint64_t bytes, Visit&& visit) {
    for (std::uint64_t done = 0; done < bytes;) {
        auto const at = offset + done;
        auto const chunk = std::min(bytes - done, page_bytes - at % page_bytes);
        visit(page(at), at, done, chunk);
        done += chunk;
    }
}

void FileModel::write(int rank, std::uint64_t offset, std::span<std::uint8_t const> data) {
    for_each_page(offset, data.size(), [&](Page& page, auto at, auto done, auto chunk) {
        page.pending = true;
        for (std::uint64_t i = 0; i < chunk; ++i) {
            write_byte(page, at + i, rank, data[done + i], true);
        }
    });
    grow(rank, offset + data.size(), true);
}

void FileModel::perhaps_write(int rank, std::uint64_t offset, std::span<std::uint8_t const> data) {
    for_each_page(offset, data.size(), [&](Page& page, auto at, auto done, auto chunk) {
        page.pending = true;
        for (std::uint64_t i = 0; i < chunk; ++i) {
            write_byte(page, at + i, rank, data[done + i], false);
        }
    });
    grow(rank, offset + data.size(), false);
}

void FileModel::grow(int rank, std::uint64_t end, bool certain) {
    auto& limit = certain ? own_end_[static_cast<std::size_t>(rank)] : perhaps_end_;
    limit = std::max(limit, end);
}

void FileModel::write_byte(Page& page, std::uint64_t offset, int rank, std::uint8_t value,
                           bool certain) {
    auto const i = offset % page_bytes;
    if (page.owner[i] == settled && certain) {
        page.previous[i] = page.value[i];
        page.value[i] = value;
        page.owner[i] = static_cast<std::int8_t>(rank);
        return;
    }
    auto& byte = make_ambiguous(page, offset);
    if (byte.sole_writer == settled) byte.sole_writer = rank;
    if (byte.sole_writer != rank) byte.sole_writer = complicated;
    byte.written.set(value);
    byte.value = value;
    byte.value_certain = certain;
    if (!certain) byte.written |= byte.before;
}

FileModel::Ambiguous& FileModel::make_ambiguous(Page& page, std::uint64_t offset) {
    auto const i = offset % page_bytes;
    auto& byte = ambiguous_[offset];
    auto const owner = page.owner[i];
    if (owner == complicated) return byte;
    byte = {};
    byte.sole_writer = owner;
    byte.value = page.value[i];
    if (owner == settled) {
        byte.before.set(page.value[i]);
    } else {
        byte.before.set(page.previous[i]);
        byte.written.set(page.value[i]);
    }
    page.owner[i] = complicated;
    return byte;
}

void FileModel::doubt_from(std::uint64_t offset) {
    for (auto& [index, page] : pages_) {
        if (!page->pending) continue;
        for (std::uint64_t i = 0; i < page_bytes; ++i) {
            auto const at = index * page_bytes + i;
            if (at < offset || page->owner[i] == settled) continue;
            auto& byte = make_ambiguous(*page, at);
            byte.value_certain = false;
            byte.written |= byte.before;
        }
    }
    for (auto& end : own_end_) {
        if (end <= offset) continue;
        perhaps_end_ = std::max(perhaps_end_, end);
        end = 0;
    }
}

void FileModel::settle() {
    settled_size_ = size_least(0);
    for (auto const end : own_end_) settled_size_ = std::max(settled_size_, end);
    settled_size_most_ = size_most();
    std::fill(own_end_.begin(), own_end_.end(), 0);
    perhaps_end_ = 0;
    show();
}

void FileModel::show() {
    for (auto& [index, page] : pages_) {
        if (!page->pending) continue;
        page->pending = false;
        for (std::uint64_t i = 0; i < page_bytes; ++i) {
            if (page->owner[i] == settled) continue;
            page->known.set(i);
            if (page->owner[i] >= 0) page->owner[i] = settled;
        }
    }
    for (auto entry = ambiguous_.begin(); entry != ambiguous_.end();) {
        auto& [offset, byte] = *entry;
        auto& home = page(offset);
        if (byte.sole_writer >= 0 && byte.value_certain) {
            home.value[offset % page_bytes] = byte.value;
            home.owner[offset % page_bytes] = settled;
            entry = ambiguous_.erase(entry);
            continue;
        }
        if (byte.sole_writer != settled) byte.before = byte.written;
        byte.written.reset();
        byte.sole_writer = settled;
        ++entry;
    }
}

void FileModel::resize(std::uint64_t size_bytes) {
    for (auto& [index, page] : pages_) {
        for (std::uint64_t i = 0; i < page_bytes; ++i) {
            auto const offset = index * page_bytes + i;
            if (offset < size_bytes) continue;
            page->value[i] = 0;
            page->owner[i] = settled;
            page->known.reset(i);
        }
    }
    std::erase_if(ambiguous_, [&](auto const& entry) { return entry.first >= size_bytes; });
    settled_size_ = settled_size_most_ = size_bytes;
}

void FileModel::adopt(std::uint64_t size_bytes, std::uint64_t offset,
                      std::span<std::uint8_t const> data) {
    for_each_page(offset, data.size(), [&](Page& page, auto at, auto done, auto chunk) {
        for (std::uint64_t i = 0; i < chunk; ++i) {
            page.value[(at + i) % page_bytes] = data[done + i];
            page.owner[(at + i) % page_bytes] = settled;
            page.known.set((at + i) % page_bytes);
            ambiguous_.erase(at + i);
        }
    });
    settled_size_ = settled_size_most_ = size_bytes;
}

bool FileModel::allows(int rank, std::uint64_t offset, std::uint8_t actual) const {
    auto const* home = find_page(offset);
    if (home == nullptr) return actual == 0 || vague_holes_;
    auto const i = offset % page_bytes;
    auto const owner = home->owner[i];
    if (owner == rank) return actual == home->value[i];
    if (vague_holes_ && !home->known.test(i)) return true;
    if (owner == settled) return actual == home->value[i];
    if (owner != complicated) return actual == home->value[i] || actual == home->previous[i];
    auto const& byte = ambiguous_.at(offset);
    if (byte.sole_writer == rank && byte.value_certain) return actual == byte.value;
    return byte.before.test(actual) || byte.written.test(actual);
}

std::uint8_t FileModel::expected(int rank, std::uint64_t offset) const {
    for (int value = 0; value < 256; ++value) {
        auto const byte = static_cast<std::uint8_t>(255 - value);
        if (allows(rank, offset, byte)) return byte;
    }
    return 0;
}

std::uint64_t FileModel::size_least(int rank) const {
    if (rank == stranger) return settled_size_;
    return std::max(settled_size_, own_end_[static_cast<std::size_t>(rank)]);
}

std::uint64_t FileModel::size_most() const {
    auto most = std::max(settled_size_most_, perhaps_end_);
    for (auto const end : own_end_) most = std::max(most, end);
    return most;
}

bool FileModel::size_is_certain() const { return settled_size_ == size_most(); }

bool FileModel::is_settled() const {
    return std::ranges::none_of(pages_, [](auto const& entry) { return entry.second->pending; });
}

void FileModel::note_read(int rank, std::uint64_t offset, std::uint64_t bytes) {
    for_each_page(offset, bytes, [&](Page& page, auto at, auto, auto chunk) {
        page.read = true;
        for (std::uint64_t i = 0; i < chunk; ++i) {
            page.readers[(at + i) % page_bytes] |= bit_of(rank);
        }
    });
}

bool FileModel::races(int rank, std::uint64_t offset, std::uint64_t bytes) const {
    auto const others = ~bit_of(rank);
    if (offset + bytes > settled_size_ && (size_readers_ & others) != 0) return true;
    for (std::uint64_t done = 0; done < bytes;) {
        auto const at = offset + done;
        auto const chunk = std::min(bytes - done, page_bytes - at % page_bytes);
        done += chunk;
        auto const* home = find_page(at);
        if (home == nullptr || !home->read) continue;
        for (std::uint64_t i = 0; i < chunk; ++i) {
            if ((home->readers[(at + i) % page_bytes] & others) != 0) return true;
        }
    }
    return false;
}

void FileModel::barrier() {
    size_readers_ = 0;
    for (auto& [index, page] : pages_) {
        if (!page->read) continue;
        page->read = false;
        page->readers.fill(0);
    }
}

std::vector<std::uint64_t> FileModel::page_offsets() const {
    std::vector<std::uint64_t> offsets;
    for (auto const& [index, page] : pages_) offsets.push_back(index * page_bytes);
    std::sort(offsets.begin(), offsets.end());
    return offsets;
}

}  // namespace fuzz
