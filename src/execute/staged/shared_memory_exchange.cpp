#include "execute/staged/shared_memory_exchange.hpp"

namespace unisono {

void SharedMemoryExchange::put(Round const& round, std::size_t aggregator) {
    auto covered = call_.coverage(round, aggregator);
    Coverage::Marker marker{covered};
    auto const scatter = [&](Positions part, std::uint64_t shift) {
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
