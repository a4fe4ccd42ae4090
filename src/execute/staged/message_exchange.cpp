#include "execute/staged/aggregator_mail.hpp"
#include "execute/staged/window_exchange.hpp"

namespace unisono {
namespace {

// Rank to rank. Every rank of another memory that has bytes in a window sends to its aggregator.
class MessageExchange final : public WindowExchange {
public:
    explicit MessageExchange(StagedCall& call) : call_{call}, mail_{call} {}

    void put(Round const& round, std::size_t aggregator) override {
        if (!call_.sends(round, aggregator)) return;
        auto message = list_own_pieces(round, aggregator);
        auto const window_bytes = round.bytes(aggregator);
        auto const list_end = message.size();
        put_head(message, {round.number, aggregator, list_end - sizeof(MessageHead), window_bytes});
        message.resize(list_end + call_.own_bytes(round, aggregator, window_bytes));
        auto* at = message.data() + list_end;
        call_.for_own_parts(round, aggregator, window_bytes, [&](Positions part, std::uint64_t) {
            copy_data(call_.request.in_memory(part), Packed{part.bytes()}.at(at));
            at += part.bytes();
        });
        call_.send(call_.plan.aggregators[aggregator], Team::Kind::data, std::move(message));
    }

    void collect(Round const& round) override { mail_.receive_data(round); }

    void ask(Round const& round, std::size_t aggregator) override {
        if (!call_.sends(round, aggregator)) return;
        auto message = list_own_pieces(round, aggregator);
        put_head(message, {round.number, aggregator, message.size() - sizeof(MessageHead), 0});
        call_.send(call_.plan.aggregators[aggregator], Team::Kind::request, std::move(message));
    }

    void collect_requests(Round const& round) override { mail_.receive_requests(round); }

    void reply(Round const& round) override { mail_.reply(round); }

    void take(Round const& round, std::size_t aggregator) override {
        if (!call_.sends(round, aggregator)) return;
        auto const message =
            call_.team.receive(call_.plan.aggregators[aggregator], Team::Kind::data);
        auto const* at = message.data() + sizeof(MessageHead);
        call_.for_own_parts(
            round, aggregator, head_of(message).valid_bytes, [&](Positions part, std::uint64_t) {
                copy_data(Packed{part.bytes()}.at(at), call_.request.in_memory(part));
                at += part.bytes();
            });
    }

private:
    // A message that lists this rank's pieces in a window; its head is still to be filled in.
    [[nodiscard]] Message list_own_pieces(Round const& round, std::size_t aggregator) const {
        Message message(sizeof(MessageHead));
        PieceList::Writer list{message};
        call_.for_own_parts(round, aggregator, round.bytes(aggregator),
                            [&](Positions part, std::uint64_t shift) {
                                list.add(call_.request.view, part, shift);
                            });
        return message;
    }

    StagedCall& call_;
    AggregatorMail mail_;
};

}  // namespace

std::unique_ptr<WindowExchange> make_message_exchange(StagedCall& call) {
    return std::make_unique<MessageExchange>(call);
}

}  // namespace unisono
