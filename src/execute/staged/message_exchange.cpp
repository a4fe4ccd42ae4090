#include "execute/staged/aggregator_mail.hpp"
#include "execute/staged/window_exchange.hpp"

namespace unisono {
namespace {

// Rank to rank. Every rank of another memory that has bytes in a window sends to its aggregator.
class MessageExchange final : public WindowExchange {
public:
    explicit MessageExchange(StagedCall& call) : call_{call}, mail_{call} {}

    void put(Round const& round, std::size_t aggregator) override {
        auto const bytes = call_.own_bytes(round, aggregator, round.bytes(aggregator));
        if (bytes == 0) return;
        auto message = describe_own(call_, round, aggregator, bytes);
        auto const data_at = message.size();
        message.resize(data_at + bytes);
        pack_own(call_, round, aggregator, message.data() + data_at);
        call_.send(call_.plan.aggregators[aggregator], Team::Kind::data, std::move(message));
    }

    void collect(Round const& round) override { mail_.receive_data(round); }

    void ask(Round const& round, std::size_t aggregator) override {
        auto const bytes = call_.own_bytes(round, aggregator, round.bytes(aggregator));
        if (bytes == 0) return;
        call_.send(call_.plan.aggregators[aggregator], Team::Kind::request,
                   describe_own(call_, round, aggregator, bytes));
    }

    void collect_requests(Round const& round) override { mail_.receive_requests(round); }

    void reply(Round const& round) override { mail_.reply(round); }

    void take(Round const& round, std::size_t aggregator) override {
        if (call_.own_bytes(round, aggregator, round.bytes(aggregator)) == 0) return;
        unpack_answer(call_, round, aggregator,
                      call_.team.receive(call_.plan.aggregators[aggregator], Team::Kind::answer));
    }

private:
    StagedCall& call_;
    AggregatorMail mail_;
};

}  // namespace

std::unique_ptr<WindowExchange> make_message_exchange(StagedCall& call) {
    return std::make_unique<MessageExchange>(call);
}

}  // namespace unisono
