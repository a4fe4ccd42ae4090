#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <random>

#include "backends/counted.hpp"
#include "backends/fault.hpp"
#include "backends/posix.hpp"
#include "execute/collective.hpp"
#include "execute/thread_team.hpp"
#include "strategies/all.hpp"

// Test equipment: collective calls made up from a seed, and files to do them on.

namespace unisono {

/// A file that is removed in the end, with known contents.
class TemporaryFile {
public:
    TemporaryFile() {
        auto const* folder = std::getenv("TMPDIR");
        path_ = std::string{folder == nullptr ? "/tmp" : folder} + "/unisono-test-XXXXXX";
        descriptor_ = mkstemp(path_.data());
    }
    ~TemporaryFile() {
        close(descriptor_);
        unlink(path_.c_str());
    }
    [[nodiscard]] int descriptor() const { return descriptor_; }
    void fill(std::vector<std::byte> const& bytes) const {
        ASSERT_EQ(ftruncate(descriptor_, 0), 0);
        ASSERT_EQ(pwrite(descriptor_, bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
    }
    [[nodiscard]] std::vector<std::byte> contents() const {
        std::vector<std::byte> bytes(std::size_t(lseek(descriptor_, 0, SEEK_END)));
        EXPECT_EQ(pread(descriptor_, bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
        return bytes;
    }

private:
    std::string path_;
    int descriptor_;
};

/// A device whose memory the CPU has, too, at addresses with one bit less; at those with the bit it
/// has nothing.
class FakeDevice final : public DeviceMemory {
public:
    static constexpr std::uintptr_t bit = std::uintptr_t{1} << 62;

    [[nodiscard]] char const* copy_call() const override { return "fakeMemcpy"; }
    [[nodiscard]] bool holds(std::uintptr_t address) const override { return (address & bit) != 0; }
    [[nodiscard]] bool copy(Direction direction, std::uintptr_t base, PieceRun const& run,
                            std::byte* packed) const override {
        auto const bytes = std::int64_t(run.bytes);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses as a driver has them
        auto* const at = reinterpret_cast<std::byte*>((base & ~bit) + std::uintptr_t(run.offset));
        if (direction == Direction::write)
            copy_pieces(packed, bytes, at, run.stride, run.bytes, run.count);
        else
            copy_pieces(at, run.stride, packed, bytes, run.bytes, run.count);
        return copies_left-- > 0;
    }

    mutable std::atomic<int> copies_left = 1 << 30;
};

/// One collective call of several ranks, made up from a seed.
struct Case {
    explicit Case(std::uint64_t seed) : engine{seed} {
        auto const ranks = std::uint32_t(1 + below(6));
        std::vector<std::uint32_t> labels(ranks);
        auto const nodes = 1 + below(ranks);
        for (auto& label : labels) label = std::uint32_t(below(nodes));
        topology = make_topology(labels);
        auto const strategies = all_strategies();
        options.strategy = strategies[1 + below(strategies.size() - 1)]->name;
        options.intra_node_aggregation = Switch(below(3));
        options.prefetch_then_read = below(3) == 0;
        if (seed % 4 >= 2) options.check = "plans";
        if (below(8) != 0) layout = some_layout();
        options.cb_buffer_size = below(4) == 0 ? 1 + below(100) : 64 + below(4000);
        options.cb_nodes = std::uint32_t(below(ranks + 1));
        no_node_memory = below(8) == 0;
        file_bytes = below(4000);
        auto const spread = below(4) == 0 ? 20000 : 40;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) requests.push_back(request(spread));
        on_device.resize(ranks);
        overlaps = seed % 2 == 1;
        if (seed % 5 == 4)
            for (std::uint32_t rank = 0; rank < ranks; ++rank)
                on_device[rank] = (seed + rank) % 3 > 0;
#ifdef __SANITIZE_THREAD__
        keep_ranks_apart();
#endif
    }

    std::uint64_t below(std::uint64_t limit) { return engine() % limit; }

    Layout some_layout() {
        std::vector<std::uint32_t> servers(1 + below(5));
        std::iota(servers.begin(), servers.end(), 0);
        auto const unit = std::uint64_t{16} << below(6);
        if (below(3) != 0) return Layout::of("test", {Striping::round_robin(unit, servers)});
        return Layout::of("test", {Striping::round_robin(unit, {0}, unit * (1 + below(9))),
                                   Striping::round_robin(2 * unit, servers)});
    }

    ShapePtr ascending_shape(std::uint64_t spread) {
        std::vector<std::int64_t> offsets;
        std::vector<std::uint64_t> lengths;
        std::int64_t at = 0;
        for (auto n = 1 + below(5); n > 0; --n) {
            at += std::int64_t(below(spread));
            offsets.push_back(at);
            lengths.push_back(1 + below(20));
            at += std::int64_t(lengths.back());
        }
        auto const blocks = make_blocks(offsets, lengths);
        return below(2) ? make_repeat(1 + below(4), blocks->high + std::int64_t(below(30)), blocks)
                        : blocks;
    }

    Request request(std::uint64_t spread) {
        Request made;
        auto const shape = ascending_shape(spread);
        made.view = {shape, std::int64_t(below(200)), shape->high + std::int64_t(below(50))};
        auto const begin = below(100);
        made.positions = {begin, begin + (below(5) == 0 ? 0 : below(600))};
        auto const memory = ascending_shape(10);
        made.memory = {memory, 0, memory->high + std::int64_t(below(9))};
        return made;
    }

    // Overlapping writers race for their bytes, as MPI lets them; the thread sanitizer must not see
    // that. Interleaved blocks do not overlap.
    void keep_ranks_apart() {
        auto const block_bytes = 1 + below(20);
        auto const ranks = requests.size();
        auto const stride = std::int64_t(block_bytes * ranks + below(10));
        for (std::size_t rank = 0; rank < ranks; ++rank)
            requests[rank].view = {make_dense(block_bytes), std::int64_t(rank * block_bytes),
                                   stride};
    }

    std::mt19937_64 engine;
    Topology topology;
    Options options;
    Layout layout;
    bool no_node_memory = false;
    bool overlaps = false;  // file I/O goes on while ranks exchange
    std::uint64_t file_bytes = 0;
    std::vector<Request> requests;
    std::vector<bool> on_device;  // whose memory the CPU cannot access
};

// UNISONO_TEST_SEED=123 replays one.
inline std::vector<std::uint64_t> test_seeds() {
    if (auto const* one = std::getenv("UNISONO_TEST_SEED"))
        return {std::strtoull(one, nullptr, 10)};
    std::vector<std::uint64_t> seeds(150);
    for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i;
    return seeds;
}

inline std::vector<std::byte> buffer_for(Request const& request, std::byte fill) {
    if (request.positions.empty()) return {fill};
    auto const end = touched(request.memory, {0, request.positions.bytes()}).end;
    return std::vector<std::byte>(end, fill);
}

inline std::byte content(std::uint64_t offset) {
    return std::byte((offset * 7 + offset / 251) & 0x7F);
}
inline std::byte written(std::uint32_t rank, std::uint64_t position) {
    return std::byte(0x80 | ((rank * 31 + position * 3) & 0x7F));
}

inline std::vector<std::byte> initial_contents(std::uint64_t bytes) {
    std::vector<std::byte> contents(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) contents[i] = content(i);
    return contents;
}

/// A file as a rank accesses it, with errors on purpose, and its accesses counted.
inline void arrange(Storage& storage, TemporaryFile const& file, std::string const& faults,
                    std::shared_ptr<BackendCounts> const& counts) {
    storage.descriptor = file.descriptor();
    storage.backend = make_posix_backend(storage.descriptor);
    if (!faults.empty()) storage.backend = make_fault_backend(std::move(storage.backend), faults);
    storage.backend = make_counted_backend(std::move(storage.backend), counts);
}

}  // namespace unisono
