#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "execute/staged/aggregator_mail.hpp"
#include "execute/staged/node_mail.hpp"
#include "execute/staged/window_exchange.hpp"

namespace unisono {
namespace {

// Room for twice what a rank has in a round in the mean, or a little in one round of many, so that
// lists, heads and uneven shares fit most of the time. Who has more sends the rest itself.
std::uint64_t slice_bytes_of(StagedCall const& call) {
    constexpr std::uint64_t little = 64 << 10;
    constexpr std::uint64_t most = 1 << 20;
    auto const& facts = call.facts;
    auto const twice = 2 * facts.bytes / call.team.topology().ranks() + sizeof(BlockHead);
    auto const a_round = twice / call.rounds();
    return std::clamp(a_round, std::min(twice, little), most);
}

bool equal(std::span<std::byte const> one, std::span<std::byte const> other) {
    return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0;
}

/// Node to node: ranks leave what they have to say in their node's memory, one of them sends it.
/// What has no room there they send themselves, as ranks of nodes without such memory do.
class NodeAggregatedExchange final : public WindowExchange {
public:
    explicit NodeAggregatedExchange(StagedCall& call) : call_{call}, mail_{call} {
        auto const& ranks = call.team.topology().ranks_near(call.team.rank());
        if (ranks.size() == 1) return;
        auto const& aggregators = call.plan.aggregators;
        first_ = static_cast<std::size_t>(std::ranges::upper_bound(aggregators, ranks.back()) -
                                          aggregators.begin());
        node_.emplace(call.team, call.plan.aggregators.size(), slice_bytes_of(call));
        if (!node_->there()) node_.reset();
    }

    void begin(Round const& round) override {
        if (node_) node_->empty_own(round.number);
    }

    void put(Round const& round, std::size_t aggregator) override {
        auto const bytes = call_.own_bytes(round, aggregator, round.bytes(aggregator));
        if (bytes == 0) return;
        auto block = describe_own(call_, round, aggregator, bytes);
        auto const data_at = block.size();
        auto const room = room_for(round, aggregator, data_at + bytes, 0);
        if (!room.empty()) {
            std::memcpy(room.data(), block.data(), data_at);
            pack_own(call_, round, aggregator, room.data() + data_at);
            return;
        }
        block.resize(data_at + bytes);
        pack_own(call_, round, aggregator, block.data() + data_at);
        call_.send(call_.plan.aggregators[aggregator], Team::Kind::data, std::move(block));
    }

    void deliver(Round const& round) override {
        if (!node_) return;
        call_.barrier();
        for_each_forwarded([&](std::size_t aggregator) {
            send_to(aggregator, Team::Kind::data, data_blocks(round, aggregator));
        });
    }

    void collect(Round const& round) override { mail_.receive_data(round); }

    void ask(Round const& round, std::size_t aggregator) override {
        auto const bytes = call_.own_bytes(round, aggregator, round.bytes(aggregator));
        if (bytes == 0) return;
        auto block = describe_own(call_, round, aggregator, bytes);
        auto const room = room_for(round, aggregator, block.size(), bytes);
        if (!room.empty()) {
            std::memcpy(room.data(), block.data(), block.size());
            return;
        }
        asked(round).push_back({aggregator, {}});
        call_.send(call_.plan.aggregators[aggregator], Team::Kind::request, std::move(block));
    }

    void request(Round const& round) override {
        if (!node_) return;
        call_.barrier();
        for_each_forwarded([&](std::size_t aggregator) { forward_request(round, aggregator); });
    }

    void collect_requests(Round const& round) override { mail_.receive_requests(round); }

    void reply(Round const& round) override { mail_.reply(round); }

    // Answers come from each aggregator in the order in which it was asked.
    void fetch(Round const& round) override {
        for (auto const& [aggregator, who] : std::exchange(asked(round), {})) {
            auto const answer =
                call_.team.receive(call_.plan.aggregators[aggregator], Team::Kind::answer);
            if (who.empty())
                unpack_answer(call_, round, aggregator, answer);
            else
                hand_round(round, aggregator, who, answer);
        }
        call_.record.lap(Phase::exchange);
        if (node_) call_.barrier();
    }

    void take(Round const& round, std::size_t aggregator) override {
        if (!node_) return;
        auto const own = node_->block(round.number, node_->local_index(), aggregator);
        if (!own.bytes.empty()) unpack_own(call_, round, aggregator, own.answer);
    }

private:
    /// An aggregator that this rank has asked: for itself, or for ranks of its node, by block.
    struct Asked {
        std::size_t aggregator;
        std::vector<std::vector<std::size_t>> who;
    };

    [[nodiscard]] std::vector<Asked>& asked(Round const& round) {
        return asked_[round.number % NodeMail::sides];
    }

    [[nodiscard]] std::span<std::byte> room_for(Round const& round, std::size_t aggregator,
                                                std::uint64_t block_bytes,
                                                std::uint64_t answer_bytes) {
        if (!node_) return {};
        return node_->put(round.number, aggregator, block_bytes, answer_bytes);
    }

    // The node's ranks share the work, in turn from their node's place on, so that not all nodes
    // are at one aggregator at once.
    template <class Use>
    void for_each_forwarded(Use&& use) const {
        auto const count = call_.plan.aggregators.size();
        for (auto i = node_->local_index(); i < count; i += node_->local_ranks())
            use((first_ + i) % count);
    }

    template <class Use>
    void for_each_left(Round const& round, std::size_t aggregator, Use&& use) const {
        for (std::size_t rank = 0; rank < node_->local_ranks(); ++rank)
            if (auto const left = node_->block(round.number, rank, aggregator); !left.bytes.empty())
                use(rank, left.bytes);
    }

    void send_to(std::size_t aggregator, Team::Kind kind, Message message) {
        if (!message.empty())
            call_.send(call_.plan.aggregators[aggregator], kind, std::move(message));
    }

    [[nodiscard]] Message data_blocks(Round const& round, std::size_t aggregator) const {
        std::size_t all_bytes = 0;
        for_each_left(round, aggregator, [&](std::size_t, auto left) { all_bytes += left.size(); });
        Message message;
        message.reserve(all_bytes);
        for_each_left(round, aggregator, [&](std::size_t, auto left) { append(message, left); });
        return message;
    }

    // Neighbours that want the very same ask for it once.
    void forward_request(Round const& round, std::size_t aggregator) {
        Message message;
        std::vector<std::vector<std::size_t>> who;
        std::span<std::byte const> last;
        std::size_t last_at = 0;
        for_each_left(round, aggregator, [&](std::size_t rank, auto left) {
            if (!equal(left, last)) {
                last = left;
                last_at = message.size();
                append(message, left);
                who.emplace_back();
            }
            who.back().push_back(rank);
            auto head = head_of(left);
            head.ranks = static_cast<std::uint32_t>(who.back().size());
            std::memcpy(message.data() + last_at, &head, sizeof head);
        });
        if (message.empty()) return;
        asked(round).push_back({aggregator, std::move(who)});
        send_to(aggregator, Team::Kind::request, std::move(message));
    }

    void hand_round(Round const& round, std::size_t aggregator,
                    std::span<std::vector<std::size_t> const> who, Message const& answer) {
        for_each_block(answer, /*has_data=*/true, [&](Block const& block) {
            for (auto const rank : who.front()) {
                node_->shorten_answer(round.number, rank, aggregator, block.data.size());
                auto const to = node_->block(round.number, rank, aggregator).answer;
                std::memcpy(to.data(), block.data.data(), block.data.size());
            }
            who = who.subspan(1);
        });
    }

    StagedCall& call_;
    AggregatorMail mail_;
    std::optional<NodeMail> node_;
    std::size_t first_ = 0;                                  // aggregator after those of this node
    std::array<std::vector<Asked>, NodeMail::sides> asked_;  // of the last rounds, in order
};

}  // namespace

std::unique_ptr<WindowExchange> make_node_aggregated_exchange(StagedCall& call) {
    return std::make_unique<NodeAggregatedExchange>(call);
}

}  // namespace unisono
