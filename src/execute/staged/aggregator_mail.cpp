#include "execute/staged/aggregator_mail.hpp"

#include <algorithm>
#include <cstring>

namespace unisono {
namespace {

std::span<std::byte const> list_in(std::span<std::byte const> message) {
    return message.subspan(sizeof(MessageHead), head_of(message).list_bytes);
}

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

void put_head(Message& message, MessageHead const& head) {
    std::memcpy(message.data(), &head, sizeof head);
}

MessageHead head_of(std::span<std::byte const> message) {
    MessageHead head;
    std::memcpy(&head, message.data(), sizeof head);
    return head;
}

// Those that came early first: messages of one rank stay in order.
template <class Use>
void AggregatorMail::for_each_message(Round const& round, Team::Kind kind, Use&& use) {
    std::uint64_t left = 0;
    for (auto const aggregator : call_.own_aggregators())
        left += call_.messages_to(round, aggregator);
    auto const is_now = [&](Received const& received) {
        return head_of(received.message).round == round.number;
    };
    for (auto& received : early_)
        if (is_now(received)) use(std::exchange(received, {})), --left;
    std::erase_if(early_, [](Received const& received) { return received.message.empty(); });
    while (left > 0) {
        auto received = call_.team.receive_next(kind);
        if (is_now(received))
            use(std::move(received)), --left;
        else
            early_.push_back(std::move(received));
    }
}

void AggregatorMail::receive_data(Round const& round) {
    for_each_message(round, Team::Kind::data,
                     [&](Received const& received) { put_in_window(round, received.message); });
}

void AggregatorMail::put_in_window(Round const& round, Message const& message) const {
    auto const head = head_of(message);
    auto covered = call_.coverage(round, head.aggregator);
    Coverage::Marker marker{covered};
    auto* const target = call_.window(round, head.aggregator);
    auto const* data = message.data() + sizeof(MessageHead) + head.list_bytes;
    PieceList::read(list_in(message), [&](PieceRun const& run) {
        copy_pieces(target + run.offset, run.stride, data, static_cast<std::int64_t>(run.bytes),
                    run.bytes, run.count);
        marker.mark(run);
        data += run.bytes * run.count;
    });
}

void AggregatorMail::receive_requests(Round const& round) {
    auto& requests = requests_[static_cast<std::size_t>(round.side())];
    for_each_message(round, Team::Kind::request, [&](Received received) {
        if (call_.exact_reads()) mark_wanted(round, received.message);
        requests.push_back(std::move(received));
    });
}

void AggregatorMail::mark_wanted(Round const& round, Message const& request) const {
    auto covered = call_.coverage(round, head_of(request).aggregator);
    Coverage::Marker marker{covered};
    PieceList::read(list_in(request), [&](PieceRun const& run) { marker.mark(run); });
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

void AggregatorMail::reply(Round const& round, std::uint32_t to, Message const& request) const {
    auto const aggregator = head_of(request).aggregator;
    auto const valid = call_.valid_bytes(round, aggregator);
    auto const* const window = call_.window(round, aggregator);
    std::uint64_t wanted = 0;
    PieceList::read(list_in(request),
                    [&](PieceRun const& run) { wanted += run.bytes * run.count; });
    Message message(sizeof(MessageHead) + wanted);
    put_head(message, {.round = round.number, .aggregator = aggregator, .valid_bytes = valid});
    auto* at = message.data() + sizeof(MessageHead);
    PieceList::read(list_in(request),
                    [&](PieceRun const& run) { at = pack(run, valid, window, at); });
    message.resize(static_cast<std::size_t>(at - message.data()));
    call_.send(to, Team::Kind::data, std::move(message));
}

}  // namespace unisono
