#include "execute/direct.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "backends/file_mapping.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t scratch_bytes_max = 1 << 20;
constexpr std::uint64_t mapping_bytes_max = 4 << 20;
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

IoResult perform_list(Request const& request, Storage const& storage, Positions part,
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

// What is stored through a mapping does not come by the backend.
coordinate::GateClient::Pass pass_gate(Storage const& storage, Tiling const& view, Positions part) {
    if (storage.gate == nullptr) return {};
    Transfer const access{.offset = touched(view, part).begin, .bytes = part.bytes()};
    return storage.gate->enter({&access, 1});
}

// The pages that a part touches, as extents for populate(): all in one where pieces lie close.
std::vector<Extent> touched_pages(Tiling const& view, Positions part) {
    auto const whole = touched(view, part);
    auto const gap_bytes = populate_gap_bytes(Direction::write);
    auto const pieces = piece_estimate(view, part);
    if (whole.bytes() - part.bytes() <= gap_bytes * pieces / 4) return {whole};
    std::vector<Extent> extents;
    walk(view, part, [&](std::int64_t offset, std::uint64_t bytes) {
        auto const begin = static_cast<std::uint64_t>(offset);
        if (!extents.empty() && begin <= extents.back().end + gap_bytes)
            extents.back().end = begin + bytes;
        else
            extents.push_back({begin, begin + bytes});
    });
    return extents;
}

// Overwrites the leading part of what is wanted through mappings; returns how many positions are
// done. Stops early at the end of the file and where pages cannot be had.
std::uint64_t overwrite_mapped(Request const& request, Positions wanted, Storage const& storage,
                               CallRecord& record) {
    struct stat status {};
    if (fstat(storage.descriptor, &status) != 0) return 0;
    Extent const file{
        0, std::min(static_cast<std::uint64_t>(status.st_size), storage.settled->load())};
    auto const all = within(request.view, wanted, file);
    Stopwatch watch;
    FileMapping mapping;
    auto at = all.begin;
    while (at < all.end) {
        auto const begin = static_cast<std::uint64_t>(offset_of(request.view, at));
        auto const window = Extent{begin, round_down(begin, page_bytes()) + mapping_bytes_max};
        auto const part = within(request.view, {at, all.end}, window);
        auto const pass = pass_gate(storage, request.view, part);
        if (mapping.map(storage.descriptor, touched(request.view, part), Direction::write) ||
            mapping.populate(touched_pages(request.view, part), Direction::write))
            break;
        watch.lap(record.file_s);
        auto const base = reinterpret_cast<std::uintptr_t>(mapping.at(begin)) - begin;
        copy_data(request.in_memory(part), {request.view, part, base});
        watch.lap(record.copying_s);
        record.file_bytes += part.bytes();
        record.file_extents += piece_estimate(request.view, part);
        at = part.end;
    }
    return at - all.begin;
}

}  // namespace

IoResult perform_direct(Request const& request, Positions part, Storage const& storage, bool mapped,
                        CallRecord& record) {
    auto const usable = mapped && request.direction == Direction::write &&
                        request.view.ascending() && !part.empty();
    auto const done = usable ? overwrite_mapped(request, part, storage, record) : 0;
    auto result = perform_list(request, storage, {part.begin + done, part.end}, record);
    result.bytes += done;
    return result;
}

}  // namespace unisono
