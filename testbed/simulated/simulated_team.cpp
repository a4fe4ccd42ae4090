#include "simulated/simulated_team.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

namespace unisono::simulated {
namespace {

// A rank that nobody has given anything to do for so long does not wait for time to pass.
constexpr double patience_s_max = 64;

char const* name_of(Team::Kind kind) {
    switch (kind) {
        case Team::Kind::data:
            return "data";
        case Team::Kind::answer:
            return "an answer";
        case Team::Kind::request:
            return "a request";
        case Team::Kind::turn:
            return "its turn";
        case Team::Kind::view:
            return "a view";
        case Team::Kind::deposit:
            break;
    }
    return "a deposit";
}

}  // namespace

char const* name_of(Await await) {
    switch (await) {
        case Await::idle:
            return "waits";
        case Await::send:
            return "sends";
        case Await::receive:
            return "receives";
        case Await::finish_sends:
            return "waits until its messages have left";
        case Await::node_memory:
            return "asks for node memory";
        case Await::merge:
            return "merges over leaders";
        case Await::gather:
            return "gathers";
        case Await::minimum:
            return "asks for a minimum";
        case Await::unite:
            return "unites bits";
        case Await::sum:
            return "asks for a sum";
        case Await::file:
            return "accesses the file";
        case Await::end:
            return "has ended";
    }
    return "";
}

SimulatedTeams::SimulatedTeams(Topology topology, Conditions conditions)
    : topology_{std::move(topology)},
      conditions_{std::move(conditions)},
      actors_{topology_.ranks()},
      begun_s_{now_s()},
      nodes_(topology_.nodes()) {
    if (conditions_.network) links_.emplace(topology_.nodes(), *conditions_.network);
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        auto const ranks = topology_.ranks_of[node].size();
        most_on_a_node_ = std::max(most_on_a_node_, ranks);
        nodes_[node].control = ZeroedMemory{Rendezvous::bytes_needed(ranks)};
        nodes_[node].lacks_memory =
            node < conditions_.node_lacks_memory.size() && conditions_.node_lacks_memory[node];
    }
    for (std::uint32_t rank = 0; rank < topology_.ranks(); ++rank)
        teams_.push_back(std::make_unique<SimulatedTeam>(*this, rank));
}

SimulatedTeams::~SimulatedTeams() = default;

void SimulatedTeams::serve_reads(ServersModel const& model) {
    reads_.emplace(model, conditions_.network.value(), topology_.nodes(), links_.value(), begun_s_,
                   [this](std::uint32_t rank) { actors_.wake(rank); });
}

// The actor of the servers: it is there when something happens at one of them.
void SimulatedTeams::run_servers() {
    auto const own = topology_.ranks();
    for (;;) {
        auto const wait_s = reads_->go_on(now_s()) - now_s();
        if (std::isinf(wait_s))
            actors_.park(own);
        else
            actors_.park(own, std::max(wait_s, 1e-9));
    }
}

Ended SimulatedTeams::run(Body const& body) {
    auto const ranks = [&](std::uint32_t rank) { run_rank(rank, body); };
    if (reads_)
        actors_.run(ranks, [this] { run_servers(); });
    else
        actors_.run(ranks);
    ended_.virtual_s = now_s() - begun_s_;
    for (auto const& team : teams_) {
        if (!team->ended_) ended_.deadlock.push_back(team->place());
        ended_.awaits.push_back(team->awaits_);
        ended_.accesses.push_back(team->accesses_);
    }
    return std::move(ended_);
}

std::size_t SimulatedTeams::node_memory_bytes() const {
    std::size_t most = 0;
    for (auto const& node : nodes_) {
        auto bytes = node.control.bytes.size();
        for (auto const& area : node.areas) bytes += area.bytes.size();
        most = std::max(most, bytes);
    }
    return most;
}

void SimulatedTeams::run_rank(std::uint32_t rank, Body const& body) {
    auto& team = *teams_[rank];
    auto& node = node_of(rank);
    auto const& ranks = topology_.ranks_near(rank);
    auto const index = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
    Rendezvous rendezvous{team, node.control.bytes, static_cast<std::size_t>(index), ranks.size()};
    try {
        team.pause();
        body(team, rendezvous);
    } catch (std::exception const& error) {
        ended_.failures.push_back("rank " + std::to_string(rank) + " threw: " + error.what());
    }
    team.ended_ = true;
    team.begin(Await::end, 0);
}

void SimulatedTeams::note(Event const& event) {
    mix(std::bit_cast<std::uint64_t>(event.at_s));
    mix(event.rank);
    mix(static_cast<std::uint64_t>(event.await));
    mix(event.detail);
    if (trace) trace(event);
}

// FNV-1a, by words.
void SimulatedTeams::mix(std::uint64_t value) {
    ended_.digest = (ended_.digest ^ value) * 0x100000001b3;
}

SimulatedTeam::SimulatedTeam(SimulatedTeams& all, std::uint32_t rank)
    : all_{all}, rank_{rank}, random_{all.conditions_.seed * 0x10001 + rank} {}

SimulatedTeam::~SimulatedTeam() = default;

// What every await point does first.
void SimulatedTeam::begin(Await await, std::uint64_t detail) {
    if (unwinding()) return;
    auto const changes_meeting_point = has_met() || await_ == Await::merge;
    await_ = await;
    detail_ = detail;
    seen_ = traffic();
    patience_s_ = tick_s;
    all_.note({now_s() - all_.begun_s_, rank_, await, detail});
    if (changes_meeting_point) wake_neighbours();
    if (await != Await::send && busy_s_ > 0) all_.actors_.sleep(std::exchange(busy_s_, 0));
    if (await != Await::end) pause();
    ++awaits_;
}

void SimulatedTeam::pause() {
    auto const& conditions = all_.conditions_;
    for (auto const& stall : conditions.stalls) {
        if (stall.rank != rank_ || stall.await != awaits_) continue;
        if (stall.ticks == 0) wait_until([] { return false; });
        all_.actors_.sleep(static_cast<double>(stall.ticks) * tick_s);
    }
    if (conditions.pause_ticks_max == 0 || random_.below(4) != 0) return;
    auto const slow = conditions.slow_rank == rank_ ? 100U : 1U;
    auto const ticks = slow * random_.below(conditions.pause_ticks_max + 1);
    if (ticks != 0) all_.actors_.sleep(static_cast<double>(ticks) * tick_s);
}

void SimulatedTeam::be_busy_with_message() {
    if (auto const& network = all_.conditions_.network) busy_s_ += network->message_s;
}

void SimulatedTeam::delay() {
    auto const most = all_.conditions_.delay_ticks_max;
    if (most == 0) return;
    auto const ticks = random_.below(most + 1);
    if (ticks != 0) all_.actors_.sleep(static_cast<double>(ticks) * tick_s);
}

void SimulatedTeam::wake_neighbours() {
    auto const idle = std::exchange(all_.node_of(rank_).idle, {});
    for (auto const rank : idle) all_.actors_.wake(rank);
}

template <class Condition>
void SimulatedTeam::wait_until(Condition&& condition) {
    while (!condition() && !unwinding()) all_.actors_.park(rank_);
}

// It has come to a meeting point, which is what its node's ranks look at while they are idle.
bool SimulatedTeam::has_met() const {
    return seen_.meetings != traffic().meetings || seen_.barriers != traffic().barriers;
}

bool SimulatedTeam::has_come_on() const { return await_ != Await::idle || !(seen_ == traffic()); }

// A rank that has done nothing since it was idle last cannot have changed what others wait for. It
// sleeps until a neighbour has come on, or for some time, and for ever once that was very long.
void SimulatedTeam::idle() {
    if (has_come_on()) {
        auto const met = seen_.meetings != traffic().meetings;
        auto const had_barrier = seen_.barriers != traffic().barriers;
        waits_at_ = met && had_barrier ? " at a meeting or barrier"
                    : met              ? " at a meeting"
                    : had_barrier      ? " at a barrier"
                                       : "";
        return begin(Await::idle, traffic().meetings + traffic().barriers);
    }
    auto& idle = all_.node_of(rank_).idle;
    if (std::ranges::find(idle, rank_) == idle.end()) idle.push_back(rank_);
    if (patience_s_ > patience_s_max) return all_.actors_.park(rank_);
    if (!all_.actors_.park(rank_, patience_s_)) patience_s_ *= 2;
}

SimulatedTeam::Channel& SimulatedTeam::channel_from(std::uint32_t rank, Kind kind) {
    auto& channel = channels_[{rank, kind}];
    channel.from = rank;
    channel.kind = kind;
    return channel;
}

// But for views, which are none when they come out of order: contracts notice that at once.
bool SimulatedTeam::may_overtake(Channel const& channel) const {
    return all_.conditions_.messages_overtake && channel.kind != Kind::view;
}

double SimulatedTeam::arrival(Channel& channel) {
    auto const& conditions = all_.conditions_;
    auto const ticks = static_cast<double>(random_.below(conditions.delay_ticks_max + 1));
    auto const arrives_s = now_s() + ticks * tick_s;
    if (may_overtake(channel)) return arrives_s;
    return channel.last_arrival_s = std::max(channel.last_arrival_s, arrives_s);
}

void SimulatedTeam::start_sending(std::uint32_t to, Kind kind, Message message) {
    begin(Await::send, to);
    all_.mix(message.size());
    auto& receiver = *all_.teams_[to];
    auto& channel = receiver.channel_from(rank_, kind);
    auto const parcel = std::make_shared<Parcel>();
    parcel->from = rank_;
    parcel->synchronous = all_.conditions_.synchronous && random_.below(2) == 0;
    parcel->arrives_s = arrival(channel);
    auto const& node_of = topology().node_of;
    if (all_.links_ && node_of[rank_] != node_of[to])
        parcel->crossing = all_.links_->send(now_s(), node_of[rank_], node_of[to], message.size());
    parcel->message = std::move(message);
    (is_deposit(kind) ? deposits_[kind] : sent_).push_back(parcel);
    channel.parcels.push_back(parcel);
    receiver.note_first_parcel(channel);
    ++receiver.messages_to_it_;
    be_busy_with_message();
    if (std::exchange(channel.receiver_waits, false)) all_.actors_.wake(to);
    if (std::erase(all_.node_of(to).idle, to) > 0) {
        receiver.patience_s_ = tick_s;
        all_.actors_.wake(to);
    }
}

// The next in order; where messages overtake, the one that is there first.
std::shared_ptr<SimulatedTeam::Parcel> SimulatedTeam::take_next(Channel& channel) {
    auto next = channel.parcels.begin();
    if (may_overtake(channel))
        next = std::ranges::min_element(channel.parcels, {},
                                        [](auto const& parcel) { return parcel->arrives_s; });
    auto parcel = *next;
    channel.parcels.erase(next);
    note_first_parcel(channel);
    return parcel;
}

void SimulatedTeam::note_first_parcel(Channel& channel) {
    auto& all = first_parcels_[channel.kind];
    if (channel.first_comes_s) all.erase({*channel.first_comes_s, channel.from});
    channel.first_comes_s.reset();
    if (channel.parcels.empty()) return;
    auto const& parcel = *channel.parcels.front();
    channel.first_comes_s = parcel.crossing ? parcel.crossing->reaches_s : parcel.arrives_s;
    all.insert({*channel.first_comes_s, channel.from});
}

Message SimulatedTeam::receive(std::uint32_t from, Kind kind) {
    kind_ = kind;
    begin(Await::receive, from);
    auto& channel = channel_from(from, kind);
    wait_until([&] { return !(channel.receiver_waits = channel.parcels.empty()); });
    if (channel.parcels.empty()) return {};  // unwinding
    return open(*take_next(channel));
}

// Of those that are on their way the one that comes first: it counts as being there, and its time
// passes.
std::optional<Team::Received> SimulatedTeam::receive_any(Kind kind) {
    auto const& first = first_parcels_[kind];
    if (first.empty()) return std::nullopt;
    auto const parcel = take_next(channel_from(first.begin()->second, kind));
    return Received{parcel->from, open(*parcel)};
}

Message SimulatedTeam::open(Parcel& parcel) {
    wait_for_arrival(parcel);
    be_busy_with_message();
    parcel.received = true;
    if (parcel.sender_waits) all_.actors_.wake(parcel.from);
    return std::move(parcel.message);
}

void SimulatedTeam::wait_for_arrival(Parcel const& parcel) {
    if (parcel.crossing == nullptr) return sleep_until(parcel.arrives_s);
    sleep_until(parcel.crossing->reaches_s);
    sleep_until(all_.links_->arrival(*parcel.crossing, topology().node_of[rank_]));
}

// What there is to do with earlier messages is done meanwhile.
void SimulatedTeam::sleep_until(double at_s) {
    at_s = std::max(at_s, now_s() + std::exchange(busy_s_, 0));
    if (at_s > now_s()) all_.actors_.sleep(at_s - now_s());
}

void SimulatedTeam::finish_sends(std::size_t still_under_way) { finish(sent_, still_under_way); }

void SimulatedTeam::finish_deposits(Kind kind) { finish(deposits_[kind], 0); }

void SimulatedTeam::finish(std::deque<std::shared_ptr<Parcel>>& sent, std::size_t still_under_way) {
    if (sent.size() <= still_under_way) return;
    begin(Await::finish_sends, still_under_way);
    while (sent.size() > still_under_way) {
        auto const parcel = sent.front();
        parcel->sender_waits = true;
        if (parcel->synchronous) wait_until([&] { return parcel->received; });
        sent.pop_front();
    }
}

// Comes to an operation of `count` ranks, to which `bring` adds what this rank has, and waits for
// the others.
template <class Bring>
std::shared_ptr<SimulatedTeam::Gathering> SimulatedTeam::take_part(
    std::shared_ptr<Gathering>& under_way, std::size_t count, std::size_t bytes, Bring&& bring) {
    if (!under_way) under_way = std::make_shared<Gathering>();
    auto gathering = under_way;
    if (gathering->present == 0) gathering->bytes_each = bytes;
    if (gathering->bytes_each != bytes)
        throw std::logic_error{std::string{name_of(await_)} + ": brings " + std::to_string(bytes) +
                               " bytes, another rank " + std::to_string(gathering->bytes_each)};
    bring(*gathering);
    if (++gathering->present < count) {
        gathering->waiting.push_back(rank_);
        wait_until([&] { return gathering->complete; });
    } else {
        gathering->complete = true;
        under_way = nullptr;
        for (auto const rank : gathering->waiting) all_.actors_.wake(rank);
    }
    return gathering;
}

// By rank, or whatever the index is.
std::shared_ptr<SimulatedTeam::Gathering> SimulatedTeam::bring_bytes(
    std::shared_ptr<Gathering>& under_way, std::size_t index, std::size_t count,
    std::span<std::byte const> mine) {
    return take_part(under_way, count, mine.size(), [&](Gathering& gathering) {
        gathering.bytes.resize(mine.size() * count);
        std::ranges::copy(
            mine, gathering.bytes.begin() + static_cast<std::ptrdiff_t>(index * mine.size()));
    });
}

// Where it costs something; else ranks come back when they like.
void SimulatedTeam::take_time_for(std::size_t nodes, std::size_t ranks_of_node,
                                  std::uint64_t bytes_a_step, std::uint64_t bytes) {
    auto const& network = all_.conditions_.network;
    if (!network) return delay();
    CollectiveCost const cost{*network, static_cast<std::uint32_t>(nodes),
                              static_cast<std::uint32_t>(ranks_of_node)};
    all_.actors_.sleep(cost.merge_s(bytes_a_step, bytes));
}

void SimulatedTeam::merge(Meeting& meeting) {
    begin(Await::merge, sizeof meeting);
    auto const gathering = bring_bytes(all_.gatherings_[Await::merge], topology().node_of[rank_],
                                       topology().nodes(), std::as_bytes(std::span{&meeting, 1}));
    take_time_for(topology().nodes(), 1, sizeof meeting);
    for (std::size_t node = 0; node < topology().nodes(); ++node) {
        Meeting next;
        std::memcpy(static_cast<void*>(&next), gathering->bytes.data() + node * sizeof next,
                    sizeof next);
        if (node == 0)
            meeting = next;
        else
            meeting.merge(next);
    }
}

void SimulatedTeam::gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) {
    begin(Await::gather, mine.size());
    auto const gathering =
        bring_bytes(all_.gatherings_[Await::gather], rank_, topology().ranks(), mine);
    take_time_for(topology().nodes(), all_.most_on_a_node_, 0, all.size());
    std::memcpy(all.data(), gathering->bytes.data(), gathering->bytes.size());
}

void SimulatedTeam::reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) {
    constexpr std::array awaits{Await::minimum, Await::unite, Await::sum};
    auto const await = awaits[static_cast<std::size_t>(reduction)];
    begin(await, values.size_bytes());
    auto const on_node = among == Among::node;
    auto& node = all_.node_of(rank_);
    auto const count =
        on_node ? topology().ranks_near(rank_).size() : std::size_t{topology().ranks()};
    auto const gathering = take_part(on_node ? node.reductions : all_.gatherings_[await], count,
                                     values.size_bytes(), [&](Gathering& all) {
                                         if (all.present == 0)
                                             return all.values.assign(values.begin(), values.end());
                                         for (std::size_t i = 0; i < values.size(); ++i)
                                             all.values[i] =
                                                 reduced(reduction, all.values[i], values[i]);
                                     });
    if (on_node)
        take_time_for(1, count, 0);
    else
        take_time_for(topology().nodes(), all_.most_on_a_node_, values.size_bytes());
    std::ranges::copy(gathering->values, values.begin());
    if (reduction != Reduction::minimum) return;
    for (auto& value : values)
        if (std::bit_width(value) == 64) value = IoResult::nowhere;
}

std::shared_ptr<SimulatedTeam::Gathering> SimulatedTeam::ask_for_memory(std::size_t bytes) {
    begin(Await::node_memory, bytes);
    auto& node = all_.node_of(rank_);
    auto gathering = take_part(node.memory_wishes, topology().ranks_near(rank_).size(), bytes,
                               [](Gathering&) {});
    take_time_for(1, topology().ranks_near(rank_).size(), 0);
    return gathering;
}

// As over MPI: ranks ask each other only where there is less than that.
std::span<std::byte> SimulatedTeam::node_memory(Area area, std::size_t bytes) {
    auto& own = areas_[static_cast<std::size_t>(area)];
    if (own.size() < bytes) own = more_node_memory(area, bytes);
    return own;
}

std::span<std::byte> SimulatedTeam::more_node_memory(Area area, std::size_t bytes) {
    ask_for_memory(bytes);
    auto& node = all_.node_of(rank_);
    if (node.lacks_memory) return {};
    auto& memory = node.areas[static_cast<std::size_t>(area)];
    if (memory.bytes.size() < bytes)
        node.outgrown.push_back(std::exchange(memory, ZeroedMemory{bytes}));
    return memory.bytes;
}

std::shared_ptr<std::span<std::byte> const> SimulatedTeam::own_node_memory(std::size_t bytes) {
    auto const gathering = ask_for_memory(bytes);
    if (all_.node_of(rank_).lacks_memory) return nullptr;
    auto& memory = gathering->memory;
    if (!memory) memory = std::make_shared<ZeroedMemory>(bytes);
    return {memory, &memory->bytes};
}

int SimulatedTeam::begin_access(std::uint64_t bytes) {
    begin(Await::file, bytes);
    delay();
    auto const access = accesses_++;
    for (auto const& fault : all_.conditions_.faults)
        if (fault.rank == rank_ && fault.access == access) return fault.code;
    return 0;
}

std::shared_ptr<Crossing> SimulatedTeam::begin_crossing(Direction direction, std::uint32_t server,
                                                        std::uint64_t bytes,
                                                        std::uint64_t requests) {
    begin(Await::file, bytes);
    auto const node = topology().node_of[rank_];
    auto const end = topology().nodes() + server;
    auto const pause_s = static_cast<double>(requests) * all_.conditions_.network->request_s;
    return direction == Direction::write ? all_.links_->send(now_s(), node, end, bytes, pause_s)
                                         : all_.links_->send(now_s(), end, node, bytes, pause_s);
}

// The answer to what was written, or the question for what was read, takes a latency more.
void SimulatedTeam::finish_crossing(Direction direction, std::uint32_t server,
                                    Crossing const& crossing) {
    sleep_until(crossing.reaches_s);
    auto const end =
        direction == Direction::write ? topology().nodes() + server : topology().node_of[rank_];
    sleep_until(all_.links_->arrival(crossing, end) + all_.conditions_.network->latency_s);
}

void SimulatedTeam::begin_read(std::uint32_t server, Extent object,
                               std::shared_ptr<Reads> const& reads) {
    begin(Await::file, object.bytes());
    ++reads->left;
    reads->rank = rank_;
    all_.reads_->begin(now_s(), topology().node_of[rank_], server, object, reads);
    all_.actors_.wake(topology().ranks());
}

void SimulatedTeam::finish_reads(Reads& reads) {
    reads.waits = true;
    wait_until([&] { return reads.left == 0; });
}

void SimulatedTeam::all_ranks_take(double seconds) {
    begin(Await::gather, 0);
    take_part(all_.gatherings_[Await::gather], topology().ranks(), 0, [](Gathering&) {});
    all_.actors_.sleep(seconds);
}

std::string SimulatedTeam::place() const {
    auto text = "rank " + std::to_string(rank_) + " on node " +
                std::to_string(topology().node_of[rank_]) + (at_.empty() ? "" : ", " + at_) + ": " +
                name_of(await_);
    if (await_ == Await::receive)
        text += " " + std::string{name_of(kind_)} + " from rank " + std::to_string(detail_);
    if (await_ == Await::idle) text += waits_at_;
    return text + ", after " + std::to_string(traffic().meetings) + " meetings, " +
           std::to_string(traffic().barriers) + " barriers, " + std::to_string(awaits_) + " awaits";
}

}  // namespace unisono::simulated
