#include "execute/staged/shared_memory_exchange.hpp"

#include <bit>
#include <map>
#include <mutex>
#include <tuple>

#include "access/copy_past_caches.hpp"
#include "support/cache_lines.hpp"
#include "support/clock.hpp"
#include "support/other_way.hpp"

namespace unisono {
namespace {

/// Whether copies past the caches are faster, by whose window it is and how long the pieces are in
/// file and memory.
OtherWay& past_caches_for(std::uint32_t rank, Facts const& facts, bool dense_memory) {
    static std::mutex mutex;
    static std::map<std::tuple<std::uint32_t, int, bool>, OtherWay> of_this_process;
    std::lock_guard const lock{mutex};
    return of_this_process[{rank, std::bit_width(facts.mean_piece_bytes()), dense_memory}];
}

}  // namespace

// Lines of a window that another core has read last must be taken from its cache before they are
// written to. Where that takes longer than all else, they go past the caches (docs/lab/tried.md).
void SharedMemoryExchange::put(Round const& round, std::size_t aggregator) {
    constexpr std::uint64_t bytes_least = 16 << 10;  // of a window; less: nothing to be gained
    constexpr std::uint64_t piece_bytes_least = 64;  // shorter ones have few whole lines
    constexpr double clearly = 0.7;  // who writes the window must get it from memory then
    auto const rank = call_.plan.aggregators[aggregator];
    if (rank == call_.team.rank() || round.bytes(aggregator) < bytes_least ||
        call_.facts.mean_piece_bytes() < piece_bytes_least) {
        put_and_mark(round, aggregator);
        return;
    }
    auto& past_caches = past_caches_for(rank, call_.facts, call_.request.memory.dense());
    auto const past = past_caches.is_next(clearly);
    auto const begun_s = steady_clock_s();
    auto const bytes = past ? put_past_caches(round, aggregator) : put_and_mark(round, aggregator);
    if (bytes > 0) past_caches.note(past, bytes, steady_clock_s() - begun_s);
}

std::uint64_t SharedMemoryExchange::put_past_caches(Round const& round, std::size_t aggregator) {
    std::uint64_t bytes = 0;
    auto const scatter = [&](Positions part, std::uint64_t shift) {
        bytes += part.bytes();
        copy_past_caches(call_.request.in_memory(part),
                         call_.in_window(round, aggregator, part, shift));
    };
    call_.for_own_parts(round, aggregator, round.bytes(aggregator), scatter);
    finish_stores_past_caches();
    if (!call_.seamless()) mark(round, aggregator);
    return bytes;
}

std::uint64_t SharedMemoryExchange::put_and_mark(Round const& round, std::size_t aggregator) {
    std::uint64_t bytes = 0;
    auto covered = call_.coverage(round, aggregator);
    Coverage::Marker marker{covered};
    auto const scatter = [&](Positions part, std::uint64_t shift) {
        bytes += part.bytes();
        auto const from = call_.request.in_memory(part);
        auto const to = call_.in_window(round, aggregator, part, shift);
        if (call_.seamless()) return copy_data(from, to);
        auto const in_marks = static_cast<std::int64_t>(shift);
        walk_both_runs(
            from.tiling, from.positions, to.tiling, to.positions, [&](RunPair const& pair) {
                copy_pieces(to.at(pair.to), pair.to_stride, from.at(pair.from), pair.from_stride,
                            pair.bytes, pair.count);
                marker.mark({pair.to + in_marks, pair.bytes, pair.to_stride, pair.count});
            });
    };
    call_.for_own_parts(round, aggregator, round.bytes(aggregator), scatter);
    return bytes;
}

void SharedMemoryExchange::ask(Round const& round, std::size_t aggregator) {
    if (call_.exact_reads()) mark(round, aggregator);
}

void SharedMemoryExchange::mark(Round const& round, std::size_t aggregator) {
    auto covered = call_.coverage(round, aggregator);
    Coverage::Marker marker{covered};
    auto const mark_part = [&](Positions part, std::uint64_t shift) {
        walk_runs(call_.request.view, part, [&](PieceRun run) {
            run.offset += static_cast<std::int64_t>(shift);
            marker.mark(run);
        });
    };
    call_.for_own_parts(round, aggregator, round.bytes(aggregator), mark_part);
}

void SharedMemoryExchange::take(Round const& round, std::size_t aggregator) {
    auto const gather = [&](Positions part, std::uint64_t shift) {
        copy_data(call_.in_window(round, aggregator, part, shift), call_.request.in_memory(part));
    };
    call_.for_own_parts(round, aggregator, call_.valid_bytes(round, aggregator), gather);
}

std::unique_ptr<WindowExchange> make_shared_memory_exchange(StagedCall& call) {
    return std::make_unique<SharedMemoryExchange>(call);
}

}  // namespace unisono
