#include "execute/staged/aggregator_mail.hpp"

#include <algorithm>
#include <cstring>

#include "exchange/piece_list.hpp"

namespace unisono {
namespace {

// The pieces of a run that are valid, packed; returns where the next ones go.
std::byte* pack(PieceRun const& run, std::uint64_t valid, std::byte const* window, std::byte* to) {
    auto const begin = static_cast<std::uint64_t>(run.offset);
    auto const stride = static_cast<std::uint64_t>(run.stride);
    if (begin + (run.count - 1) * stride + run.bytes <= valid) {
        copy_pieces(to, static_cast<std::int64_t>(run.bytes), window + begin, run.stride, run.bytes,
                    run.count);
        return to + run.bytes * run.count;
    }
    for (std::uint64_t i = 0; i < run.count && begin + i * stride < valid; ++i) {
        auto const bytes = std::min(run.bytes, valid - begin - i * stride);
        std::memcpy(to, window + begin + i * stride, bytes);
        to += bytes;
    }
    return to;
}

}  // namespace

// Those that came early first: messages of one rank stay in order.
template <class Use>
void AggregatorMail::for_each_message(Round const& round, Team::Kind kind, Use&& use) {
    auto const has_data = kind == Team::Kind::data;
    std::uint64_t bytes_left = 0;
    for (auto const aggregator : call_.own_aggregators())
        bytes_left += call_.bytes_from_elsewhere(round, aggregator);
    // Returns how many bytes it is about.
    auto const take = [&](Received received) {
        std::uint64_t bytes = 0;
        for_each_block(received.message, has_data, [&](Block const& block) {
            bytes += std::uint64_t{block.head.data_bytes} * block.head.ranks;
        });
        use(std::move(received));
        return bytes;
    };
    auto const is_now = [&](Received const& received) {
        return head_of(received.message).round == static_cast<std::uint32_t>(round.number);
    };
    for (auto& received : early_)
        if (is_now(received)) bytes_left -= take(std::exchange(received, {}));
    std::erase_if(early_, [](Received const& received) { return received.message.empty(); });
    while (bytes_left > 0) {
        auto received = call_.team.receive_next(kind);
        if (is_now(received))
            bytes_left -= take(std::move(received));
        else
            early_.push_back(std::move(received));
    }
}

void AggregatorMail::receive_data(Round const& round) {
    for_each_message(round, Team::Kind::data, [&](Received const& received) {
        for_each_block(received.message, /*has_data=*/true,
                       [&](Block const& block) { put_in_window(round, block); });
    });
}

void AggregatorMail::put_in_window(Round const& round, Block const& block) const {
    auto const aggregator = block.head.aggregator;
    auto covered = call_.coverage(round, aggregator);
    Coverage::Marker marker{covered};
    auto* const target = call_.window(round, aggregator);
    auto const* data = block.data.data();
    PieceList::read(block.list, [&](PieceRun const& run) {
        copy_pieces(target + run.offset, run.stride, data, static_cast<std::int64_t>(run.bytes),
                    run.bytes, run.count);
        marker.mark(run);
        data += run.bytes * run.count;
    });
}

void AggregatorMail::receive_requests(Round const& round) {
    auto& requests = requests_[static_cast<std::size_t>(round.side())];
    for_each_message(round, Team::Kind::request, [&](Received received) {
        if (call_.exact_reads())
            for_each_block(received.message, /*has_data=*/false,
                           [&](Block const& request) { mark_wanted(round, request); });
        requests.push_back(std::move(received));
    });
}

void AggregatorMail::mark_wanted(Round const& round, Block const& request) const {
    auto covered = call_.coverage(round, request.head.aggregator);
    Coverage::Marker marker{covered};
    PieceList::read(request.list, [&](PieceRun const& run) { marker.mark(run); });
}

// In turn from this rank on, so that not all aggregators answer the same rank first.
void AggregatorMail::reply(Round const& round) {
    auto& requests = requests_[static_cast<std::size_t>(round.side())];
    auto const ranks = call_.team.topology().ranks();
    std::ranges::stable_sort(requests, {}, [&](Received const& request) {
        return (request.from + ranks - call_.team.rank()) % ranks;
    });
    for (auto const& [rank, request] : requests) reply(round, rank, request);
    requests.clear();
}

// An answer for each of its blocks.
void AggregatorMail::reply(Round const& round, std::uint32_t to, Message const& request) const {
    Message answers;
    std::uint64_t bytes = 0;
    for_each_block(request, /*has_data=*/false,
                   [&](Block const& block) { bytes += sizeof(BlockHead) + block.head.data_bytes; });
    answers.reserve(bytes);
    for_each_block(request, /*has_data=*/false,
                   [&](Block const& block) { append_answer(round, block, answers); });
    call_.send(to, Team::Kind::answer, std::move(answers));
}

void AggregatorMail::append_answer(Round const& round, Block const& request,
                                   Message& answers) const {
    auto const aggregator = request.head.aggregator;
    auto const valid = call_.valid_bytes(round, aggregator);
    auto const* const window = call_.window(round, aggregator);
    BlockHead head{.round = request.head.round, .aggregator = aggregator};
    auto const head_at = answers.size();
    auto* const data = append_block(answers, head, request.head.data_bytes);
    auto* at = data;
    PieceList::read(request.list, [&](PieceRun const& run) { at = pack(run, valid, window, at); });
    head.data_bytes = static_cast<std::uint32_t>(at - data);
    std::memcpy(answers.data() + head_at, &head, sizeof head);
    answers.resize(head_at + sizeof head + head.data_bytes);
}

}  // namespace unisono
