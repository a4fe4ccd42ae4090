#include "check.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

namespace fuzz {

namespace {

std::string hexadecimal(std::uint8_t byte) {
    static char const digits[] = "0123456789abcdef";
    return std::string("0x") + digits[byte >> 4] + digits[byte & 15];
}

std::string difference(std::uint64_t offset, std::uint8_t expected, std::uint8_t actual) {
    return "file offset " + std::to_string(offset) + ": expected " + hexadecimal(expected) +
           ", found " + hexadecimal(actual);
}

std::uint64_t size_of(int descriptor) {
    struct stat status {};
    fstat(descriptor, &status);
    return static_cast<std::uint64_t>(status.st_size);
}

/// Reads what exists of [offset, offset + bytes).
std::vector<std::uint8_t> read_at(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    std::uint64_t done = 0;
    while (done < bytes) {
        auto const got =
            pread(descriptor, data.data() + done, bytes - done, static_cast<off_t>(offset + done));
        if (got <= 0) break;
        done += static_cast<std::uint64_t>(got);
    }
    data.resize(done);
    return data;
}

std::optional<std::string> check_bytes(FileModel const& model, std::uint64_t offset,
                                       std::vector<std::uint8_t> const& data) {
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (!model.allows(0, offset + i, data[i])) {
            return difference(offset + i, model.expected(0, offset + i), data[i]);
        }
    }
    return std::nullopt;
}

/// Nobody ever touched what lies outside the model's pages.
std::optional<std::string> check_untouched(int descriptor, FileModel const& model) {
    constexpr std::uint64_t chunk_bytes = 1 << 20;
    for (off_t from = 0;;) {
        auto const begin = lseek(descriptor, from, SEEK_DATA);
        if (begin < 0) return std::nullopt;
        auto const end = lseek(descriptor, begin, SEEK_HOLE);
        for (auto at = begin; at < end; at += chunk_bytes) {
            auto const offset = static_cast<std::uint64_t>(at);
            auto const bytes =
                std::min<std::uint64_t>(chunk_bytes, static_cast<std::uint64_t>(end - at));
            auto const wrong = check_bytes(model, offset, read_at(descriptor, offset, bytes));
            if (wrong) return wrong;
        }
        from = end;
    }
}

}  // namespace

std::optional<std::string> check_file(int descriptor, FileModel const& model) {
    auto const size = size_of(descriptor);
    if (size < model.size_least(0) || size > model.size_most()) {
        return "file size: expected " + std::to_string(model.size_least(0)) + ", found " +
               std::to_string(size);
    }
    for (auto const offset : model.page_offsets()) {
        auto const data = read_at(descriptor, offset, FileModel::page_bytes);
        if (auto const wrong = check_bytes(model, offset, data)) return wrong;
    }
    return check_untouched(descriptor, model);
}

std::optional<std::string> check_spoilt_file(int descriptor, FileModel const& model, bool& spoilt) {
    for (auto const offset : model.page_offsets()) {
        auto data = read_at(descriptor, offset, FileModel::page_bytes);
        for (std::size_t i = 0; i < data.size(); ++i) {
            auto const wrong_value = static_cast<std::uint8_t>(data[i] ^ 0x40);
            if (model.allows(0, offset + i, wrong_value)) continue;
            data[i] = wrong_value;
            spoilt = true;
            return check_bytes(model, offset, data);
        }
    }
    return std::nullopt;
}

std::optional<std::string> check_unmixed(int descriptor, std::vector<Access> const& accesses,
                                         FileState const& file) {
    struct Written {
        int writers = 0;
        std::array<int, 2> rank{};
        std::array<std::uint8_t, 2> value{};
    };
    std::map<std::uint64_t, Written> bytes;
    for (std::size_t m = 0; m < accesses.size(); ++m) {
        auto const& access = accesses[m];
        auto const& view = file.state[m].view;
        if (!access.takes_part || !access.writes || access.bytes() == 0) continue;
        auto const data = Buffer(access).packed_for(view);
        view.for_each_extent(access.offset * view.etype_bytes(), access.bytes(),
                             [&](auto offset, auto index, auto length) {
                                 for (std::uint64_t i = 0; i < length; ++i) {
                                     auto& byte = bytes[offset + i];
                                     auto const at = static_cast<std::size_t>(byte.writers++);
                                     if (at >= byte.rank.size()) continue;
                                     byte.rank[at] = static_cast<int>(m);
                                     byte.value[at] = data[index + i];
                                 }
                             });
    }
    if (bytes.empty()) return std::nullopt;
    auto const begin = bytes.begin()->first;
    auto const found = read_at(descriptor, begin, bytes.rbegin()->first + 1 - begin);
    std::map<std::array<int, 2>, bool> second_is_last;  // of two ranks
    for (auto const& [offset, byte] : bytes) {
        if (byte.writers != 2 || byte.value[0] == byte.value[1]) continue;
        if (offset - begin >= found.size()) break;  // complained of elsewhere
        auto const second = found[offset - begin] == byte.value[1];
        if (second_is_last.emplace(byte.rank, second).first->second != second)
            return "in atomic mode ranks " + std::to_string(byte.rank[0]) + " and " +
                   std::to_string(byte.rank[1]) + " are mixed, at file offset " +
                   std::to_string(offset);
    }
    return std::nullopt;
}

void adopt_file(int descriptor, FileModel& model) {
    auto const size = size_of(descriptor);
    for (auto const offset : model.page_offsets()) {
        auto data = read_at(descriptor, offset, FileModel::page_bytes);
        data.resize(FileModel::page_bytes);
        model.adopt(size, offset, data);
    }
}

std::optional<std::string> check_read(Access const& access, View const& view, int rank,
                                      FileModel const& model, std::uint64_t bytes,
                                      std::vector<std::uint8_t> const& packed,
                                      std::vector<std::uint8_t> const& background) {
    std::optional<std::string> wrong;
    auto const first = access.offset * view.etype_bytes();
    view.for_each_extent(first, bytes, [&](auto offset, auto index, auto run_bytes) {
        for (std::uint64_t i = 0; i < run_bytes && !wrong; ++i) {
            if (model.allows(rank, offset + i, packed[index + i])) continue;
            wrong = "data byte " + std::to_string(index + i) + " of the read, " +
                    difference(offset + i, model.expected(rank, offset + i), packed[index + i]);
            if (packed[index + i] == background[index + i]) *wrong += " (as before the call)";
        }
    });
    return wrong;
}

}  // namespace fuzz
