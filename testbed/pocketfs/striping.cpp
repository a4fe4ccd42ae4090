#include "pocketfs/striping.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <sstream>

namespace unisono::testbed {

std::string show(Striping const& striping) {
    return "stripe_bytes=" + std::to_string(striping.stripe_bytes) +
           ",servers=" + std::to_string(striping.servers) +
           ",first=" + std::to_string(striping.first);
}

std::optional<Striping> parse_striping(std::string const& text) {
    unsigned long long stripe_bytes = 0;
    Striping striping;
    int length = 0;
    // NOLINTNEXTLINE(cert-err34-c,bugprone-unchecked-string-to-number-conversion)
    int const fields = std::sscanf(text.c_str(), "stripe_bytes=%llu,servers=%u,first=%u%n",
                                   &stripe_bytes, &striping.servers, &striping.first, &length);
    striping.stripe_bytes = stripe_bytes;
    if (fields != 3 || static_cast<std::size_t>(length) != text.size()) return {};
    if (stripe_bytes == 0 || stripe_bytes > Striping::stripe_bytes_max) return {};
    if (striping.servers == 0) return {};
    return striping;
}

std::vector<ObjectPiece> split(Striping const& striping, std::uint32_t all_servers,
                               std::uint64_t offset, std::uint64_t bytes) {
    std::vector<ObjectPiece> pieces;
    if (bytes == 0) return pieces;
    auto const first_unit = offset / striping.stripe_bytes;
    auto const units = (offset + bytes - 1) / striping.stripe_bytes - first_unit + 1;
    for (std::uint64_t unit = 0; unit < std::min<std::uint64_t>(units, striping.servers); ++unit) {
        auto const index = static_cast<std::uint32_t>((first_unit + unit) % striping.servers);
        auto const begin = object_bytes(striping, offset, index);
        pieces.push_back({(striping.first + index) % all_servers, begin,
                          object_bytes(striping, offset + bytes, index) - begin});
    }
    return pieces;
}

std::uint64_t object_bytes(Striping const& striping, std::uint64_t file_bytes,
                           std::uint32_t index) {
    auto const row = striping.stripe_bytes * striping.servers;
    auto const rest = file_bytes % row;
    auto const before = index * striping.stripe_bytes;
    auto const last = rest > before ? std::min(rest - before, striping.stripe_bytes) : 0;
    return file_bytes / row * striping.stripe_bytes + last;
}

std::optional<DiskMap::Run> DiskMap::find(std::uint64_t object_offset) const {
    auto const after = runs_.upper_bound(object_offset);
    if (after == runs_.begin()) return {};
    auto const& [begin, run] = *std::prev(after);
    auto const within = object_offset - begin;
    if (within >= run.bytes) return {};
    return Run{run.address + within, run.bytes - within};
}

void DiskMap::add(std::uint64_t object_offset, Run run) {
    auto const after = runs_.upper_bound(object_offset);
    if (after != runs_.begin()) {
        auto& [begin, before] = *std::prev(after);
        if (begin + before.bytes == object_offset && before.address + before.bytes == run.address) {
            before.bytes += run.bytes;
            return;
        }
    }
    runs_[object_offset] = run;
}

std::vector<DiskMap::Run> DiskMap::trim(std::uint64_t object_bytes) {
    std::vector<Run> gone;
    auto run = runs_.lower_bound(object_bytes);
    if (run != runs_.begin()) {
        auto& [begin, before] = *std::prev(run);
        if (begin + before.bytes > object_bytes) {
            auto const kept = object_bytes - begin;
            gone.push_back({before.address + kept, before.bytes - kept});
            before.bytes = kept;
        }
    }
    for (; run != runs_.end(); run = runs_.erase(run)) gone.push_back(run->second);
    return gone;
}

std::string show(DiskMap const& map) {
    std::string text;
    for (auto const& [offset, run] : map.runs()) {
        if (!text.empty()) text += ' ';
        text += std::to_string(offset) + ':' + std::to_string(run.address) + ':' +
                std::to_string(run.bytes);
    }
    return text;
}

std::optional<DiskMap> parse_disk_map(std::string const& text) {
    DiskMap map;
    std::istringstream words(text);
    std::uint64_t offset = 0;
    DiskMap::Run run;
    char colon = 0;
    char second_colon = 0;
    while (words >> std::ws && !words.eof()) {
        if (!(words >> offset >> colon >> run.address >> second_colon >> run.bytes)) return {};
        if (colon != ':' || second_colon != ':') return {};
        map.add(offset, run);
    }
    return map;
}

DiskSpace::DiskSpace(std::uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes / 4096 * 4096) {
    free_.add(0, capacity_bytes_);
}

std::optional<std::uint64_t> DiskSpace::take(std::uint64_t goal, std::uint64_t bytes) {
    auto const& runs = free_.runs();
    std::optional<std::uint64_t> found;
    auto const fits = [&](auto const& run, std::uint64_t from) {
        auto const begin = std::max(run.first, from);
        if (begin + bytes > run.second) return false;
        found = begin;
        return true;
    };
    auto const after = runs.upper_bound(goal);
    auto const start = after == runs.begin() ? after : std::prev(after);
    for (auto run = start; run != runs.end() && !found; ++run) fits(*run, goal);
    for (auto run = runs.begin(); run != runs.end() && !found; ++run) fits(*run, 0);
    if (found) free_.remove(*found, *found + bytes);
    return found;
}

void DiskSpace::reserve(std::uint64_t address, std::uint64_t bytes) {
    free_.remove(address, address + bytes);
}

void DiskSpace::give(std::uint64_t address, std::uint64_t bytes) {
    free_.add(address, std::min(address + bytes, capacity_bytes_));
}

bool place(DiskMap& map, DiskSpace& space, std::uint64_t begin, std::uint64_t end,
           std::uint64_t chunk_bytes, std::uint64_t goal) {
    auto const last = (end + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    for (auto at = begin / chunk_bytes * chunk_bytes; at < last;) {
        // Parts of a chunk may be there: of a file that was trimmed, or of shorter chunks.
        if (auto const run = map.find(at)) {
            at += run->bytes;
            continue;
        }
        auto const behind = map.runs().upper_bound(at);
        auto wanted = goal;
        auto stop = (at / chunk_bytes + 1) * chunk_bytes;
        if (behind != map.runs().end()) {
            stop = std::min(stop, behind->first);
            auto const distance = behind->first - at;
            wanted = behind->second.address > distance ? behind->second.address - distance : 0;
        }
        if (behind != map.runs().begin()) {
            auto const& [run_offset, run] = *std::prev(behind);
            wanted = run.address + (at - run_offset);
        }
        auto const address = space.take(wanted, stop - at);
        if (!address) return false;
        map.add(at, {*address, stop - at});
        at = stop;
    }
    return true;
}

}  // namespace unisono::testbed
