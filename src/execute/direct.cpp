#include "execute/direct.hpp"

#include <algorithm>

namespace unisono {
namespace {

constexpr std::uint64_t scratch_bytes_max = 1 << 20;
constexpr std::size_t batch_transfers = 1024;
// A piece of at least this size goes straight from the user's memory; smaller ones are packed.
constexpr std::uint64_t straight_piece_bytes = 4096;

void add(IoResult& total, IoResult const& part) {
    total.bytes += part.bytes;
    total.stopped_at = part.stopped_at;
    total.error = part.error;
}

bool stopped(IoResult const& result) { return result.stopped_at != IoResult::nowhere; }

// Gathers transfers into lists for the backend, which wants them ascending and disjoint.
class ListIo {
public:
    ListIo(Direction direction, Storage const& storage, bool ascending, CallRecord& record)
        : direction_{direction},
          storage_{storage},
          most_{ascending ? batch_transfers : 1},
          record_{record} {
        list_.reserve(most_);
    }

    void add(std::uint64_t offset, std::byte* memory, std::uint64_t bytes) {
        if (stopped(result)) return;
        list_.push_back({offset, memory, bytes});
        if (list_.size() >= most_) flush();
    }

    void flush() {
        if (list_.empty() || stopped(result)) return;
        auto const part = storage_.backend->perform(direction_, list_);
        record_.file_extents += list_.size();
        record_.file_bytes += part.bytes;
        unisono::add(result, part);
        list_.clear();
    }

    IoResult result;

private:
    Direction direction_;
    Storage const& storage_;
    std::size_t most_;
    CallRecord& record_;
    std::vector<Transfer> list_;
};

// Straight between the user's memory and the file, one transfer per run contiguous on both sides.
IoResult perform_straight(Request const& request, Storage const& storage, Positions part,
                          CallRecord& record) {
    ListIo io{request.direction, storage, request.view.ascending(), record};
    auto const memory = request.in_memory(part);
    walk_both(request.view, part, memory.tiling, memory.positions,
              [&](std::int64_t file, std::int64_t offset, std::uint64_t bytes) {
                  io.add(static_cast<std::uint64_t>(file), memory.at(offset), bytes);
              });
    io.flush();
    return io.result;
}

// Small pieces of memory: through a packed scratch buffer.
IoResult perform_packed(Request const& request, Storage const& storage, Positions all,
                        CallRecord& record) {
    IoResult total;
    std::vector<std::byte> scratch(std::min(all.bytes(), scratch_bytes_max));
    Stopwatch watch;
    for (auto at = all.begin; at < all.end && !stopped(total); at += scratch.size()) {
        Positions const part{at, std::min(at + scratch.size(), all.end)};
        auto const memory = request.in_memory(part);
        if (request.direction == Direction::write) {
            copy_data(memory, Packed{part.bytes()}.at(scratch.data()));
            watch.lap(record.copying_s);
        }
        ListIo io{request.direction, storage, request.view.ascending(), record};
        auto* next = scratch.data();
        walk(request.view, part, [&](std::int64_t file, std::uint64_t bytes) {
            io.add(static_cast<std::uint64_t>(file), next, bytes);
            next += bytes;
        });
        io.flush();
        watch.lap(record.file_s);
        add(total, io.result);
        if (request.direction == Direction::read) {
            Placed const target{memory.tiling,
                                {memory.positions.begin, memory.positions.begin + io.result.bytes},
                                memory.base};
            copy_data(Packed{io.result.bytes}.at(scratch.data()), target);
            watch.lap(record.copying_s);
        }
    }
    return total;
}

}  // namespace

IoResult perform_direct(Request const& request, Positions part, Storage const& storage,
                        CallRecord& record) {
    if (part.empty()) return {};
    auto const memory = request.in_memory(part);
    auto const memory_pieces = piece_estimate(memory.tiling, memory.positions);
    if (memory_pieces * straight_piece_bytes > part.bytes() && memory_pieces > 1)
        return perform_packed(request, storage, part, record);
    Stopwatch watch;
    auto const result = perform_straight(request, storage, part, record);
    watch.lap(record.file_s);
    return result;
}

}  // namespace unisono
