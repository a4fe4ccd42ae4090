#include "backends/mapped.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/file_mapping.hpp"
#include "backends/run.hpp"
#include "support/clock.hpp"

namespace unisono {

namespace {

constexpr std::uint64_t chunk_bytes_max = 4 << 20;

// What a mapping costs, and what system calls would cost instead, in nanoseconds; only the ratios
// matter. CPU time measured on Linux 6.18, tmpfs and ext4:
//   system call  pread 216 to 270, pwrite 220 to 340, whatever the piece
//   page         read 167 and 6 (ext4 has large folios), write 306 and 583
// Getting space for a hole costs about 1000 per page more, with a mapping as with system calls, so
// that it does not enter. Copies are left out for the same reason.
struct Costs {
    std::uint64_t system_call_ns;  // preadv or pwritev of one piece, without its copy
    std::uint64_t page_ns;         // populate and unmap one page
    std::uint64_t populate_ns;     // one madvise
    std::uint64_t map_ns;          // mmap and munmap
};

constexpr Costs read_costs{220, 150, 240, 2000};
constexpr Costs write_costs{280, 450, 240, 2000};

// The first transfers of a list that fit into one mapping.
struct Chunk {
    std::size_t transfer_count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t run_count = 0;   // groups of file-adjacent transfers
    std::uint64_t page_count = 0;  // pages of `touched`
    std::vector<Extent> touched;   // whole pages, in groups that are populated together
    Extent extent;                 // from the first to the last byte
};

void touch(Chunk& chunk, Extent pages, std::uint64_t gap_bytes) {
    if (chunk.touched.empty() || pages.begin > chunk.touched.back().end + gap_bytes) {
        chunk.touched.push_back(pages);
        chunk.page_count += pages.bytes() / page_bytes();
        return;
    }
    auto& group = chunk.touched.back();
    chunk.page_count += (pages.end - group.end) / page_bytes();
    group.end = pages.end;
}

// At least one transfer, even when it is larger than a chunk should be.
void cut_chunk(Chunk& chunk, std::span<Transfer const> list, Direction direction) {
    auto const gap_bytes = populate_gap_bytes(direction);
    auto const page_mask = ~(page_bytes() - 1);
    chunk = {0, 0, 0, 0, std::move(chunk.touched), {list[0].offset, list[0].offset}};
    chunk.touched.clear();
    for (auto const& transfer : list) {
        auto const end = transfer.offset + transfer.bytes;
        if (chunk.transfer_count > 0 && end - chunk.extent.begin > chunk_bytes_max) break;
        ++chunk.transfer_count;
        if (transfer.bytes == 0) continue;
        if (transfer.offset != chunk.extent.end || chunk.run_count == 0) ++chunk.run_count;
        chunk.bytes += transfer.bytes;
        chunk.extent.end = end;
        touch(chunk, {transfer.offset & page_mask, round_up(end, page_bytes())}, gap_bytes);
    }
}

// Whatever the pieces are.
bool mapping_may_pay(std::size_t pieces, Direction direction) {
    auto const& costs = direction == Direction::read ? read_costs : write_costs;
    return pieces * costs.system_call_ns > costs.map_ns;
}

bool mapping_pays(Chunk const& chunk, Direction direction) {
    auto const& costs = direction == Direction::read ? read_costs : write_costs;
    if (chunk.extent.bytes() > chunk_bytes_max) return false;
    return chunk.run_count * costs.system_call_ns > chunk.page_count * costs.page_ns +
                                                        chunk.touched.size() * costs.populate_ns +
                                                        costs.map_ns;
}

// So many tell how fast a way is.
constexpr std::uint64_t telling_bytes = one_piece_mapped_bytes;
constexpr auto never_s = std::numeric_limits<double>::infinity();

void copy(FileMapping const& mapping, Direction direction, std::span<Transfer const> list) {
    for (auto const& transfer : list) {
        if (transfer.bytes == 0) continue;
        auto* const file = mapping.at(transfer.offset);
        if (direction == Direction::read) {
            std::memcpy(transfer.memory, file, transfer.bytes);
        } else {
            std::memcpy(file, transfer.memory, transfer.bytes);
        }
    }
}

class MappedBackend final : public Backend {
public:
    MappedBackend(int fd, std::unique_ptr<Backend> fallback, MmapSafeBytes mmap_safe_bytes,
                  std::shared_ptr<FasterWay> writes, bool maps_writes)
        : fd_(fd),
          fallback_(std::move(fallback)),
          mmap_safe_bytes_(std::move(mmap_safe_bytes)),
          maps_writes_(maps_writes),
          writes_(std::move(writes)) {}

    [[nodiscard]] std::string_view name() const override { return "mapped"; }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        if (list.size() == 1 && list.front().bytes < one_piece_mapped_bytes)
            return fallback_->perform(direction, list);
        struct stat status {};
        auto const writes = direction == Direction::write;
        auto const map_large = writes && overwrites(list) && writes_->is_mapping();
        auto const may_map =
            (!writes || maps_writes_) && (map_large || mapping_may_pay(list.size(), direction));
        if (!may_map || fstat(fd_, &status) != 0) return by_calls(direction, list);
        auto mappable_bytes = static_cast<std::uint64_t>(status.st_size);
        if (writes)
            mappable_bytes =
                std::min(mappable_bytes, mmap_safe_bytes_->load(std::memory_order_acquire));
        if (map_large) return perform(direction, cut_at(chunk_bytes_max, list), mappable_bytes);
        return perform(direction, list, mappable_bytes);
    }

    // What was stored through a mapping is in the file's page cache, like everything else.
    Error sync() override { return fallback_->sync(); }
    Error close() override { return fallback_->close(); }

private:
    IoResult perform(Direction direction, std::span<Transfer const> list,
                     std::uint64_t mappable_bytes) {
        IoResult result;
        Chunk chunk;
        while (!list.empty()) {
            cut_chunk(chunk, list, direction);
            auto const transfers = list.first(chunk.transfer_count);
            auto const mapped =
                chunk.extent.end <= mappable_bytes &&
                ((mapping_pays(chunk, direction) && move(chunk, direction, transfers)) ||
                 (direction == Direction::write && write_large(chunk, transfers)));
            if (mapped) {
                result.bytes += chunk.bytes;
            } else {
                result = joined(result, by_calls(direction, transfers));
                if (result.stopped_at != IoResult::nowhere) return result;
            }
            list = list.subspan(chunk.transfer_count);
        }
        return result;
    }

    // False when nothing was moved: then a system call can say why.
    [[nodiscard]] bool move(Chunk const& chunk, Direction direction,
                            std::span<Transfer const> list) const {
        FileMapping mapping;
        if (mapping.map(fd_, chunk.extent, direction)) return false;
        if (mapping.populate(chunk.touched, direction)) return false;
        copy(mapping, direction, list);
        return true;
    }

    // All of it is where writes may be mapped.
    [[nodiscard]] bool overwrites(std::span<Transfer const> list) const {
        return !list.empty() && list.back().offset + list.back().bytes <=
                                    mmap_safe_bytes_->load(std::memory_order_acquire);
    }

    // Large pieces, while a mapping is faster than calls, which wait for those of others.
    [[nodiscard]] bool write_large(Chunk const& chunk, std::span<Transfer const> list) {
        if (chunk.bytes < telling_bytes || chunk.extent.bytes() > chunk_bytes_max ||
            2 * chunk.bytes < chunk.page_count * page_bytes() || !writes_->is_mapping())
            return false;
        auto const began_s = steady_clock_s();
        auto const moved = move(chunk, Direction::write, list);
        writes_->note_mapping(chunk.bytes, moved ? steady_clock_s() - began_s : never_s);
        return moved;
    }

    IoResult by_calls(Direction direction, std::span<Transfer const> list) {
        auto const tells = direction == Direction::write && maps_writes_ && overwrites(list) &&
                           total_bytes(list) >= telling_bytes * list.size();
        if (!tells) return fallback_->perform(direction, list);
        auto const began_s = steady_clock_s();
        auto const result = fallback_->perform(direction, list);
        if (!result.error && result.bytes > 0)
            writes_->note_call(result.bytes, steady_clock_s() - began_s);
        return result;
    }

    static IoResult joined(IoResult const& before, IoResult const& after) {
        return {before.bytes + after.bytes, after.stopped_at, after.error};
    }

    int fd_;
    std::unique_ptr<Backend> fallback_;
    MmapSafeBytes mmap_safe_bytes_;
    bool maps_writes_;
    std::shared_ptr<FasterWay> writes_;  // of large pieces
};

}  // namespace

std::unique_ptr<Backend> make_mapped_backend(int fd, std::unique_ptr<Backend> fallback,
                                             MmapSafeBytes mmap_safe_bytes, bool maps_writes,
                                             std::shared_ptr<FasterWay> writes) {
    return std::make_unique<MappedBackend>(fd, std::move(fallback), std::move(mmap_safe_bytes),
                                           std::move(writes), maps_writes);
}

}  // namespace unisono
