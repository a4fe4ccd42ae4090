#include "exchange/relayed_team.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "exchange/learn_nodes.hpp"

namespace unisono {
namespace {

using Channel = RelayedMail::Channel;

Channel channel_of(Team::Kind kind) {
    assert(kind < Team::Kind::deposit);
    return static_cast<Channel>(kind);
}

Topology own_node_of(Topology const& topology, std::uint32_t rank) {
    auto const& ranks = topology.ranks_near(rank);
    return make_topology(std::vector<std::uint32_t>(ranks.size()));
}

std::uint32_t index_in(std::vector<std::uint32_t> const& ranks, std::uint32_t rank) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
}

Message message_of(std::span<std::byte const> bytes) { return {bytes.begin(), bytes.end()}; }

void reduce_on(NodeTeam& node, std::span<std::uint64_t> values, Team::Reduction reduction) {
    switch (reduction) {
        case Team::Reduction::minimum:
            return node.minimum(values);
        case Team::Reduction::unite:
            return node.unite(values, Team::Among::all);
        case Team::Reduction::sum:
            return node.sum(values, Team::Among::all);
    }
}

// The lowest bit of a node's number: how many nodes, from this one on, tell it what they have. All
// of them tell the first one.
std::size_t subtree(std::size_t node, std::size_t nodes) {
    return node == 0 ? std::bit_ceil(nodes) : node & -node;
}

}  // namespace

RelayedTeam::RelayedTeam(NodeTeam::Name name_on_node, Topology topology, std::uint32_t rank,
                         RelayedMail& mail, std::function<void()> when_idle)
    : topology_{std::move(topology)},
      rank_{rank},
      own_node_{topology_.node_of[rank]},
      mail_{mail},
      when_idle_{std::move(when_idle)},
      node_{name_on_node, own_node_of(topology_, rank), index_on_node(rank)} {
    auto const near_ranks = topology_.ranks_of[own_node_].size();
    meeting_point_ = node_.own_node_memory(Rendezvous::bytes_needed(near_ranks));
    if (meeting_point_ == nullptr) throw std::bad_alloc{};
    rendezvous_ =
        std::make_unique<Rendezvous>(*this, *meeting_point_, index_on_node(rank), near_ranks);
}

std::uint32_t RelayedTeam::index_on_node(std::uint32_t rank) const {
    return index_in(topology_.ranks_of[own_node_], rank);
}

void RelayedTeam::idle() {
    when_idle_();
    node_.idle();
}

void RelayedTeam::learn_nodes(std::string const& own_name) {
    unisono::learn_nodes(*this, topology_, own_name);
}

// ---- messages

void RelayedTeam::start_sending(std::uint32_t to, Kind kind, Message message) {
    if (kind == Kind::turn && near(to)) return node_.send(index_on_node(to), kind, {});
    mail_.send({to, channel_of(kind), std::move(message)});
}

Message RelayedTeam::take(std::uint32_t from, Channel channel) {
    auto letter = mail_.take(channel, from);
    for (; !letter; letter = mail_.take(channel, from)) idle();
    return std::move(letter->message);
}

Message RelayedTeam::receive(std::uint32_t from, Kind kind) {
    if (kind == Kind::turn && near(from)) return node_.receive(index_on_node(from), kind);
    return take(from, channel_of(kind));
}

std::optional<Team::Received> RelayedTeam::receive_any(Kind kind) {
    auto letter = mail_.take(channel_of(kind), {});
    if (!letter) return {};
    return Received{letter->rank, std::move(letter->message)};
}

void RelayedTeam::finish_sends(std::size_t still_under_way) {
    while (mail_.unsent() > still_under_way) idle();
}

// ---- what all tell each other

void RelayedTeam::send_parts(std::size_t to_node, std::span<Message const> parts) {
    Message whole;
    for (auto const& part : parts) {
        std::uint64_t const size = part.size();
        append(whole, std::as_bytes(std::span{&size, 1}));
        append(whole, part);
    }
    mail_.send({topology_.ranks_of[to_node][0], Channel::gather, std::move(whole)});
}

void RelayedTeam::receive_parts(std::size_t from_node, std::span<Message> parts) {
    auto const message = take(topology_.ranks_of[from_node][0], Channel::gather);
    std::span<std::byte const> rest = message;
    for (auto& part : parts) {
        std::uint64_t size = 0;
        std::memcpy(&size, rest.data(), sizeof size);
        part = message_of(rest.subspan(sizeof size, size));
        rest = rest.subspan(sizeof size + size);
    }
}

std::vector<Message> RelayedTeam::exchange_between_leaders(Message mine) {
    std::size_t const nodes = topology_.nodes(), me = own_node_;
    auto const own = subtree(me, nodes);
    auto const end = [&](std::size_t first, std::size_t count) {
        return std::min(nodes, first + count);
    };
    std::vector<Message> all(nodes);
    std::span const parts{all};
    all[me] = std::move(mine);
    for (std::size_t on = 1; on < own && me + on < nodes; on *= 2)
        receive_parts(me + on, parts.subspan(me + on, end(me + on, on) - (me + on)));
    if (me != 0) {
        send_parts(me - own, parts.subspan(me, end(me, own) - me));
        receive_parts(me - own, parts);
    }
    for (auto on = own / 2; on > 0; on /= 2)
        if (me + on < nodes) send_parts(me + on, parts);
    return all;
}

void RelayedTeam::merge(Meeting& meeting) {
    auto const all = exchange_between_leaders(message_of(std::as_bytes(std::span{&meeting, 1})));
    for (std::size_t node = 0; node < all.size(); ++node) {
        Meeting brought;
        std::memcpy(static_cast<void*>(&brought), all[node].data(), sizeof brought);
        if (node == 0)
            meeting = brought;
        else
            meeting.merge(brought);
    }
}

void RelayedTeam::gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) {
    std::vector<std::byte> on_node(mine.size() * node_.topology().ranks());
    node_.gather(mine, on_node);
    std::vector<std::byte> by_node;
    if (leads())
        for (auto const& part : exchange_between_leaders(message_of(on_node)))
            by_node.insert(by_node.end(), part.begin(), part.end());
    by_node = node_.from_rank_0(std::move(by_node));
    auto const* next = by_node.data();
    for (auto const& ranks : topology_.ranks_of)
        for (auto const rank : ranks) {
            std::memcpy(all.data() + rank * mine.size(), next, mine.size());
            next += mine.size();
        }
}

void RelayedTeam::reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) {
    reduce_on(node_, values, reduction);
    if (among == Among::node) return;
    std::vector<std::byte> reduced_bytes;
    if (leads()) {
        auto const all = exchange_between_leaders(message_of(std::as_bytes(values)));
        for (std::size_t node = 0; node < all.size(); ++node)
            for (std::size_t i = 0; i < values.size(); ++i) {
                std::uint64_t value = 0;
                std::memcpy(&value, all[node].data() + i * sizeof value, sizeof value);
                values[i] = node == 0 ? value : reduced(reduction, values[i], value);
            }
        auto const bytes = std::as_bytes(values);
        reduced_bytes.assign(bytes.begin(), bytes.end());
    }
    reduced_bytes = node_.from_rank_0(std::move(reduced_bytes));
    std::memcpy(values.data(), reduced_bytes.data(), values.size_bytes());
}

std::vector<std::byte> RelayedTeam::from_rank_0(std::vector<std::byte> bytes) {
    if (leads()) {
        auto const all = exchange_between_leaders(rank_ == 0 ? message_of(bytes) : Message{});
        bytes.assign(all[0].begin(), all[0].end());
    }
    return node_.from_rank_0(std::move(bytes));
}

}  // namespace unisono
