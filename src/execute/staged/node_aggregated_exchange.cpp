#include <array>
#include <cstring>
#include <utility>

#include "execute/staged/aggregator_mail.hpp"
#include "execute/staged/shared_memory_exchange.hpp"

namespace unisono {
namespace {

// A message about parts of a window that ranks of this node have marked: data to be sent, or
// wanted. Room for that many data bytes follows.
Message list_of(Round const& round, std::size_t aggregator, std::span<BufferRange const> parts,
                std::uint64_t window_bytes, std::uint64_t data_bytes) {
    Message message(sizeof(MessageHead));
    {
        PieceList::Writer list{message};
        for (auto const& part : parts) list.add(part);
    }
    put_head(message,
             {round.number, aggregator, message.size() - sizeof(MessageHead), window_bytes});
    message.resize(message.size() + data_bytes);
    return message;
}

// Node to node: ranks put into windows of their own node's, one of them forwards.
class NodeAggregatedExchange final : public SharedMemoryExchange {
public:
    explicit NodeAggregatedExchange(StagedCall& call) : SharedMemoryExchange{call}, mail_{call} {}

    void deliver(Round const& round) override {
        call_.barrier();
        for_forwarded(round, [&](std::size_t aggregator) { forward_data(round, aggregator); });
    }

    void collect(Round const& round) override { mail_.receive_data(round); }

    void ask(Round const& round, std::size_t aggregator) override { mark(round, aggregator); }

    void request(Round const& round) override {
        call_.barrier();
        for_forwarded(round, [&](std::size_t aggregator) {
            auto parts = call_.coverage(round, aggregator).take(round.bytes(aggregator));
            call_.send(call_.plan.aggregators[aggregator], Team::Kind::request,
                       list_of(round, aggregator, parts, 0, 0));
            asked_[side_of(round)].emplace_back(aggregator, std::move(parts));
        });
    }

    void collect_requests(Round const& round) override { mail_.receive_requests(round); }

    void reply(Round const& round) override { mail_.reply(round); }

    // What this rank has asked for goes into its node's windows, for all of the node.
    void fetch(Round const& round) override {
        for (auto const& [aggregator, parts] : asked_[side_of(round)])
            receive_reply(round, aggregator, parts);
        asked_[side_of(round)].clear();
        call_.barrier();
    }

private:
    static std::size_t side_of(Round const& round) {
        return static_cast<std::size_t>(round.side());
    }

    // Aggregators of other nodes to which this rank sends what its node has for them.
    template <class Use>
    void for_forwarded(Round const& round, Use&& use) const {
        for (std::size_t aggregator = 0; aggregator < round.parts.size(); ++aggregator)
            if (call_.sends(round, aggregator)) use(aggregator);
    }

    void forward_data(Round const& round, std::size_t aggregator) {
        auto const window_bytes = round.bytes(aggregator);
        auto const parts = call_.coverage(round, aggregator).take(window_bytes);
        std::uint64_t data_bytes = 0;
        for (auto const& part : parts) data_bytes += part.bytes();
        auto message = list_of(round, aggregator, parts, window_bytes, data_bytes);
        auto* at = message.data() + (message.size() - data_bytes);
        for (auto const& part : parts) {
            std::memcpy(at, call_.window(round, aggregator) + part.begin, part.bytes());
            at += part.bytes();
        }
        call_.send(call_.plan.aggregators[aggregator], Team::Kind::data, std::move(message));
    }

    void receive_reply(Round const& round, std::size_t aggregator,
                       std::span<BufferRange const> parts) const {
        auto const message =
            call_.team.receive(call_.plan.aggregators[aggregator], Team::Kind::data);
        auto const valid = head_of(message).valid_bytes;
        call_.valid_bytes(round, aggregator) = valid;
        auto const* at = message.data() + sizeof(MessageHead);
        for (auto const& part : parts) {
            auto const there = intersect(part, {0, valid});
            if (there.empty()) break;
            std::memcpy(call_.window(round, aggregator) + there.begin, at, there.bytes());
            at += there.bytes();
        }
    }

    AggregatorMail mail_;
    // By side: aggregators that this rank has asked for its node, and which parts of the window.
    std::array<std::vector<std::pair<std::size_t, std::vector<BufferRange>>>, 2> asked_;
};

}  // namespace

std::unique_ptr<WindowExchange> make_node_aggregated_exchange(StagedCall& call) {
    return std::make_unique<NodeAggregatedExchange>(call);
}

}  // namespace unisono
