// Messages between nodes (MpiTeam): whole or in fragments, whichever is faster.

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "interpose/mpi_team.hpp"
#include "interpose/own_communicator.hpp"

namespace unisono::interpose {
namespace {

constexpr int tag_of(Team::Kind kind) { return 1 + static_cast<int>(kind); }

// What transports send at once.
constexpr std::size_t fragment_bytes = 16 * 1024;
// Of a message; before them stands its size.
constexpr std::size_t in_first_fragment = fragment_bytes - sizeof(std::uint64_t);

constexpr std::size_t fragments_of(std::size_t bytes) {
    return 1 + div_ceil(bytes - in_first_fragment, fragment_bytes);
}

// Requests on messages of `own`.
void wait_for(std::vector<MPI_Request>& requests, MPI_Comm own) {
    auto const count = static_cast<int>(requests.size());
    require_success(PMPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), own);
}

bool is_done(MPI_Request& request, MPI_Comm own) {
    int done = 0;
    require_success(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), own);
    return done != 0;
}

bool are_done(std::vector<MPI_Request>& requests, MPI_Comm own) {
    int done = 0;
    auto const count = static_cast<int>(requests.size());
    require_success(PMPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE), own);
    return done != 0;
}

template <class Byte, class Use>
void for_each_later_fragment(std::span<Byte> message, Use&& use) {
    for (auto rest = message.subspan(in_first_fragment); !rest.empty();) {
        auto const part = rest.first(std::min(rest.size(), fragment_bytes));
        use(part);
        rest = rest.subspan(part.size());
    }
}

constexpr auto never_s = std::numeric_limits<double>::max();

}  // namespace

// What goes in fragments begins with one of exactly so many bytes: how many it has, and its first
// bytes. No whole message is as long, so receivers tell them apart.
void MpiTeam::start_sending(std::uint32_t to, Kind kind, Message message) {
    rendezvous_->note().note_message();
    if (is_deposit(kind)) drop_sent(deposits_[kind]);
    auto& sending = (is_deposit(kind) ? deposits_[kind] : sending_).emplace_back();
    sending.message = std::move(message);
    std::span<std::byte const> const all = sending.message;
    auto const whole = all.size() < fragment_bytes ||
                       (all.size() > fragment_bytes && !in_fragments_ && all.size() <= whole_most_);
    auto const node = topology_.node_of[to];
    auto const in_turn = kind == Kind::answer && (!whole || answers_.contains(node));
    auto const send = [&](std::span<std::byte const> part) {
        if (in_turn) {
            ++sending.in_turn;
            answers_[node].unsent.push_back({to, part, &sending});
        } else {
            PMPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(to),
                       tag_of(kind), comm_, &sending.requests.emplace_back());
        }
    };
    if (whole) return send(all);
    if (!in_turn) sending.requests.reserve(fragments_of(all.size()));
    std::uint64_t const size = all.size();
    sending.first.resize(fragment_bytes);
    std::memcpy(sending.first.data(), &size, sizeof size);
    std::memcpy(sending.first.data() + sizeof size, all.data(), in_first_fragment);
    send(sending.first);
    for_each_later_fragment(all, send);
    send_answers();
}

// Many ranks answer a node at once: each sends no more than keeps its link busy, or switches drop
// what does not fit their queues, and TCP may wait for 200 ms.
void MpiTeam::send_answers() {
    constexpr std::size_t at_once = 4;
    for (auto lane = answers_.begin(); lane != answers_.end();) {
        auto& [unsent, under_way] = lane->second;
        std::erase_if(under_way, [this](Part& part) {
            auto const left = is_done(part.request, comm_);
            if (left) --part.sending->in_turn;
            return left;
        });
        for (; under_way.size() < at_once && !unsent.empty(); unsent.pop_front()) {
            auto& part = under_way.emplace_back(unsent.front());
            PMPI_Issend(part.bytes.data(), static_cast<int>(part.bytes.size()), MPI_BYTE,
                        static_cast<int>(part.to), tag_of(Kind::answer), comm_, &part.request);
        }
        lane = under_way.empty() ? answers_.erase(lane) : std::next(lane);
    }
}

// Before MPI waits by itself: those who wait for answers may be waited for. Who comes there has
// taken all that it has asked for.
void MpiTeam::finish_answers() {
    while (!answers_.empty()) idle();
}

// Whose answer comes meanwhile is not kept waiting.
Message MpiTeam::receive(std::uint32_t from, Kind kind) {
    auto const from_any = in_fragments_ && kind == Kind::answer;
    while (true) {
        auto const oldest = std::ranges::find_if(receiving_, [&](Receiving const& receiving) {
            return receiving.from == from && receiving.kind == kind;
        });
        auto const begun = oldest != receiving_.end();
        if (begun && are_done(oldest->requests, comm_)) return take(oldest).message;
        auto const may_begin = from_any || !begun;
        auto const source = from_any ? MPI_ANY_SOURCE : static_cast<int>(from);
        if (!may_begin || !start_receiving(source, kind)) idle();
    }
}

// Later fragments are received into their place: who has seen the first one waits for them while
// others' begin. No more than at_once of them: links are full with fewer, and each is looked at
// here.
std::optional<Team::Received> MpiTeam::receive_any(Kind kind) {
    constexpr int at_once = 64;
    auto under_way = std::ranges::count(receiving_, kind, &Receiving::kind);
    while (under_way < at_once && start_receiving(MPI_ANY_SOURCE, kind)) ++under_way;
    std::vector<std::uint32_t> waited_for;  // those whose older message has not come
    for (auto receiving = receiving_.begin(); receiving != receiving_.end(); ++receiving) {
        if (receiving->kind != kind || std::ranges::count(waited_for, receiving->from) != 0)
            continue;
        if (are_done(receiving->requests, comm_)) return take(receiving);
        waited_for.push_back(receiving->from);
    }
    return std::nullopt;
}

// A message whose first part has come, if there is one.
bool MpiTeam::start_receiving(int from, Kind kind) {
    int found = 0;
    MPI_Message matched = MPI_MESSAGE_NULL;
    MPI_Status status;
    PMPI_Improbe(from, tag_of(kind), comm_, &found, &matched, &status);
    if (found == 0) return false;
    auto& receiving = receiving_.emplace_back(
        Receiving{.from = static_cast<std::uint32_t>(status.MPI_SOURCE), .kind = kind});
    auto& message = receiving.message;
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    message.resize(static_cast<std::size_t>(bytes));
    require_success(PMPI_Mrecv(message.data(), bytes, MPI_BYTE, &matched, MPI_STATUS_IGNORE),
                    comm_);
    rendezvous_->note().note_message();
    if (message.size() != fragment_bytes) return true;
    auto const first = std::exchange(message, {});
    std::uint64_t size = 0;
    std::memcpy(&size, first.data(), sizeof size);
    message.resize(size);
    std::memcpy(message.data(), first.data() + sizeof size, in_first_fragment);
    receiving.requests.reserve(fragments_of(size));
    for_each_later_fragment(std::span{message}, [&](std::span<std::byte> part) {
        PMPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, status.MPI_SOURCE,
                   tag_of(kind), comm_, &receiving.requests.emplace_back());
    });
    return true;
}

Team::Received MpiTeam::take(std::list<Receiving>::iterator receiving) {
    Received received{receiving->from, std::move(receiving->message)};
    receiving_.erase(receiving);
    return received;
}

void MpiTeam::finish_sends(std::size_t still_under_way) {
    while (sending_.size() > still_under_way) finish_oldest(sending_);
}

// After calls that did not go together some may not be whole. All of them is on its way.
void MpiTeam::finish_messages() {
    finish_sends(0);
    for (auto& receiving : receiving_) wait_for(receiving.requests, comm_);
    for (auto& [kind, sending] : deposits_)
        while (!sending.empty()) finish_oldest(sending);
}

void MpiTeam::finish_deposits(Kind kind) {
    auto& sending = deposits_[kind];
    while (!sending.empty()) finish_oldest(sending);
    deposits_.erase(kind);
}

// Nobody waits for deposits, so their memory is given back when there are more.
void MpiTeam::drop_sent(std::deque<Sending>& sending) const {
    while (!sending.empty() && are_done(sending.front().requests, comm_)) sending.pop_front();
}

void MpiTeam::finish_oldest(std::deque<Sending>& sending) {
    auto& oldest = sending.front();
    while (oldest.in_turn > 0 || (!answers_.empty() && !are_done(oldest.requests, comm_))) idle();
    wait_for(oldest.requests, comm_);
    sending.pop_front();
}

// Longer messages than a fragment are announced by most transports, and wait for the receiver's
// answer. That is right where the network's hardware moves them; over TCP it waits behind all that
// queues on the links, which costs half of their speed (docs/lab/tried.md). TCP is known by how
// long an empty message takes. Trying both takes as long as a small call, so that waits until it is
// a hundredth of what was sent. Answers over fast links go whole: in fragments they wait for their
// turns.
void MpiTeam::expect_messages(std::uint64_t bytes, bool read_over_fast_links) {
    constexpr std::uint64_t enough_to_ask_for = 256 << 10;  // of each rank
    constexpr std::uint64_t enough_to_try_for = 200 << 20;  // of each node
    if (topology_.nodes() == 1 || fragments_decided_) return;
    expected_bytes_ += bytes;
    if (!network_asked_ && expected_bytes_ / topology_.ranks() >= enough_to_ask_for) {
        constexpr double hardware_s = 16e-6;
        auto seconds = local_index_ == 0 ? seconds_to_neighbour() : never_s;
        PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MIN, comm_);
        fragments_suit_ = seconds > hardware_s;
        network_asked_ = true;
    }
    if (!messages_tried_ && !read_over_fast_links &&
        expected_bytes_ / topology_.nodes() >= enough_to_try_for) {
        std::array seconds{0.0, 0.0};
        if (local_index_ == 0) seconds = try_messages();
        PMPI_Allreduce(MPI_IN_PLACE, seconds.data(), 2, MPI_DOUBLE, MPI_MAX, comm_);
        // Over TCP fragments take 0.58 to 0.95 of the time, in shared memory 1.4 to 3 times as
        // long.
        constexpr double clearly = 1.2;
        fragments_suit_ = seconds[1] < clearly * seconds[0];
        messages_tried_ = true;
    }
    send_in_fragments(fragments_suit_ && !read_over_fast_links);
}

// How long an empty message takes to the next node and back, at best; never_s on those who answer.
double MpiTeam::seconds_to_neighbour() {
    constexpr int tries = 4;
    auto const node = topology_.node_of[rank_];
    auto const asks = node % 2 == 0;
    auto const other = asks ? node + 1 : node - 1;
    auto best_s = never_s;
    if (other >= topology_.nodes()) return best_s;
    auto const neighbour = static_cast<int>(topology_.ranks_of[other][0]);
    auto const send = [&] {
        PMPI_Send(nullptr, 0, MPI_BYTE, neighbour, tag_of(Kind::data), comm_);
    };
    for (int i = 0; i < tries; ++i) {
        auto const begin_s = PMPI_Wtime();
        if (asks) send();
        PMPI_Recv(nullptr, 0, MPI_BYTE, neighbour, tag_of(Kind::data), comm_, MPI_STATUS_IGNORE);
        if (!asks) send();
        if (asks) best_s = std::min(best_s, PMPI_Wtime() - begin_s);
    }
    return best_s;
}

// The better one of a few tries each: whole, in fragments.
std::array<double, 2> MpiTeam::try_messages() {
    std::array best{never_s, never_s};
    for (int repeat = 0; repeat < 2; ++repeat)
        for (bool const fragments : {false, true}) {
            send_in_fragments(fragments);
            best[fragments ? 1 : 0] = std::min(best[fragments ? 1 : 0], send_around());
        }
    return best;
}

// Seconds for some messages to the next few nodes, and as many from those before.
double MpiTeam::send_around() {
    constexpr int messages = 2;
    constexpr std::size_t message_bytes = 64 * 1024;
    auto const nodes = topology_.nodes();
    auto const others = std::min<std::size_t>(nodes - 1, 4);
    auto const leader = [&](std::size_t nodes_on) {
        return topology_.ranks_of[(topology_.node_of[rank_] + nodes_on) % nodes][0];
    };
    auto const begin_s = PMPI_Wtime();
    for (int i = 0; i < messages; ++i)
        for (std::size_t on = 1; on <= others; ++on)
            start_sending(leader(on), Kind::data, Message(message_bytes, std::byte{}));
    for (int i = 0; i < messages; ++i)
        for (std::size_t back = 1; back <= others; ++back)
            receive(leader(nodes - back), Kind::data);
    finish_sends(0);
    return PMPI_Wtime() - begin_s;
}

}  // namespace unisono::interpose
