#include "execute/direct.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "strategies/realms.hpp"

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

IoResult nothing_done(int code, char const* call, std::int64_t offset) {
    auto const at = static_cast<std::uint64_t>(offset);
    return {.bytes = 0, .stopped_at = at, .error = {code, call, at}};
}

bool stopped(IoResult const& result) { return result.stopped_at != IoResult::nowhere; }

// Gathers transfers into lists for the backend, which wants them ascending and disjoint.
class ListIo {
public:
    /// Of `part`. Adds to `result` what was moved.
    ListIo(Request const& request, Positions part, Storage const& storage, IoResult& result)
        : direction_{request.direction},
          storage_{storage},
          most_{request.view.ascending() ? batch_transfers : 1},
          result_{result} {
        // Not more than is needed: a large block makes the C library tidy up all the program's
        // small ones.
        list_.reserve(std::min<std::uint64_t>(most_, piece_estimate(request.view, part)));
    }

    void add(std::uint64_t offset, std::byte* memory, std::uint64_t bytes) {
        if (stopped(result_)) return;
        list_.push_back({offset, memory, bytes});
        if (list_.size() >= most_) flush();
    }

    void flush() {
        if (list_.empty() || stopped(result_)) return;
        unisono::add(result_, storage_.backend->perform(direction_, list_));
        list_.clear();
    }

private:
    Direction direction_;
    Storage const& storage_;
    std::size_t most_;
    IoResult& result_;
    std::vector<Transfer> list_;
};

bool one_piece(Tiling const& tiling, Positions part) {
    return tiling.dense() || (tiling.ascending() && touched(tiling, part).bytes() == part.bytes());
}

// One piece in the file and one in memory, as most small calls have: nothing need be walked.
void perform_whole(Request const& request, Storage const& storage, Positions part,
                   CallRecord& record, IoResult& total) {
    auto const memory = request.in_memory(part);
    Transfer const whole{static_cast<std::uint64_t>(offset_of(request.view, part.begin)),
                         memory.at(offset_of(memory.tiling, memory.positions.begin)), part.bytes()};
    total = storage.backend->perform(request.direction, {&whole, 1});
    record.lap(Phase::file);
}

// Straight between the user's memory and the file, one transfer per run contiguous on both sides.
void perform_straight(Request const& request, Storage const& storage, Positions part,
                      CallRecord& record, IoResult& total) {
    ListIo io{request, part, storage, total};
    auto const memory = request.in_memory(part);
    walk_both(request.view, part, memory.tiling, memory.positions,
              [&](std::int64_t file, std::int64_t offset, std::uint64_t bytes) {
                  io.add(static_cast<std::uint64_t>(file), memory.at(offset), bytes);
              });
    io.flush();
    record.lap(Phase::file);
}

// Small pieces of memory: through a packed scratch buffer.
void perform_packed(Request const& request, Storage const& storage, Positions all,
                    CallRecord& record, IoResult& total) {
    std::vector<std::byte> scratch(std::min(all.bytes(), scratch_bytes_max));
    for (auto at = all.begin; at < all.end && !stopped(total); at += scratch.size()) {
        Positions const part{at, std::min(at + scratch.size(), all.end)};
        auto const memory = request.in_memory(part);
        if (request.direction == Direction::write) {
            copy_data(memory, Packed{part.bytes()}.at(scratch.data()));
            record.lap(Phase::copying);
        }
        IoResult moved;
        ListIo io{request, part, storage, moved};
        auto* next = scratch.data();
        walk(request.view, part, [&](std::int64_t file, std::uint64_t bytes) {
            io.add(static_cast<std::uint64_t>(file), next, bytes);
            next += bytes;
        });
        io.flush();
        record.lap(Phase::file);
        if (request.direction == Direction::read) {
            Placed const target{memory.tiling,
                                {memory.positions.begin, memory.positions.begin + moved.bytes},
                                memory.base};
            copy_data(Packed{moved.bytes}.at(scratch.data()), target);
            record.lap(Phase::copying);
        }
        add(total, moved);
    }
}

// Where only writes that make the file longer go alone, the last part goes first, for the same
// reason as the last page does in make_end_first_backend; if it fails, all is written as ever.
void perform_packed_end_first(Request const& request, Storage const& storage, Positions all,
                              CallRecord& record, IoResult& total) {
    auto rest = all;
    if (request.direction == Direction::write && storage.grows_alone &&
        all.bytes() > scratch_bytes_max) {
        auto const last_bytes = (all.bytes() - 1) % scratch_bytes_max + 1;
        IoResult last;
        perform_packed(request, storage, {all.end - last_bytes, all.end}, record, last);
        if (last.bytes == last_bytes) rest.end -= last_bytes;
    }
    perform_packed(request, storage, rest, record, total);
    if (!stopped(total)) total.bytes = all.bytes();
}

}  // namespace

// Not in atomic mode: the kernel's locks on one open file do not nest, and the request gives up its
// own before the end.
PageLock::PageLock(Request const& request, Storage const& storage, bool shared) {
    auto const needed = shared && !request.positions.empty() && storage.range_locks == nullptr;
    if (!needed || storage.page_locks == nullptr) return;
    auto const range = touched(request.view, request.positions);
    pages_ = {round_down(range.begin, client_page_bytes), round_up(range.end, client_page_bytes)};
    held_.emplace(*storage.page_locks, Direction::write, pages_);
}

Error PageLock::error() const {
    if (!held_ || held_->error() == 0) return {};
    return {held_->error(), "fcntl", pages_.begin};
}

IoResult perform_direct(Request const& request, Positions part, Storage const& storage,
                        CallRecord& record) {
    IoResult total;
    if (part.empty()) return total;
    std::optional<RangeLocks::Held> held;
    if (storage.range_locks != nullptr)
        held.emplace(*storage.range_locks, request.direction, touched(request.view, part));
    if (held && held->error() != 0)
        return nothing_done(held->error(), "fcntl", offset_of(request.view, part.begin));
    auto const memory = request.in_memory(part);
    auto const memory_pieces = piece_estimate(memory.tiling, memory.positions);
    auto const packed = memory_pieces * straight_piece_bytes > part.bytes() && memory_pieces > 1;
    auto const whole = one_piece(request.view, part) && one_piece(memory.tiling, memory.positions);
    auto* const perform = whole    ? perform_whole
                          : packed ? perform_packed_end_first
                                   : perform_straight;
    try {
        perform(request, storage, part, record, total);
    } catch (std::bad_alloc const&) {
        total.stopped_at =
            static_cast<std::uint64_t>(offset_of(request.view, part.begin + total.bytes));
        total.error = {ENOMEM, "getting memory", total.stopped_at};
    }
    return total;
}

std::uint64_t file_bytes_of(Storage const& storage) {
    struct stat status {};
    return fstat(storage.descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

Verdict lost_in(Request const& request, IoResult const& result, std::uint32_t rank) {
    if (!result.error || request.direction == Direction::read) return {};
    Verdict verdict{result, rank};
    verdict.lost_end = touched(request.view, request.positions).end;
    verdict.lost_bytes = request.positions.bytes() - result.bytes;
    return verdict;
}

}  // namespace unisono
