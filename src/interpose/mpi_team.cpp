#include "interpose/mpi_team.hpp"

#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "exchange/descriptor_socket.hpp"
#include "exchange/learn_nodes.hpp"
#include "support/hash.hpp"

namespace unisono::interpose {
namespace {

constexpr int tag_of(Team::Kind kind) { return 1 + static_cast<int>(kind); }
// MPICH's MPI_Iprobe drives progress only if it finds nothing: no message has this tag.
constexpr int tag_of_nothing = 0;

// What transports send at once.
constexpr std::size_t fragment_bytes = 16 * 1024;
// Of a message; before them stands its size.
constexpr std::size_t in_first_fragment = fragment_bytes - sizeof(std::uint64_t);

constexpr std::size_t fragments_of(std::size_t bytes) {
    return 1 + div_ceil(bytes - in_first_fragment, fragment_bytes);
}

void wait_for(std::vector<MPI_Request>& requests) {
    PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

bool is_done(MPI_Request& request) {
    int done = 0;
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
}

bool are_done(std::vector<MPI_Request>& requests) {
    int done = 0;
    PMPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
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

constexpr std::uint64_t unknown_machine = 0;

// The same where one kernel runs for both, and its sockets pass descriptors.
std::uint64_t machine_key() {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string text;
    struct stat network {};
    if (!(file >> text) || stat("/proc/self/ns/net", &network) != 0) return unknown_machine;
    text += ' ' + std::to_string(network.st_ino);
    return hash64(text) | 1;
}

}  // namespace

std::string processor_name() {
    std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
    int length = 0;
    PMPI_Get_processor_name(name.data(), &length);
    return name.data();
}

std::vector<std::uint32_t> machine_labels(MPI_Comm comm) {
    int size = 1;
    PMPI_Comm_size(comm, &size);
    std::vector<std::uint32_t> labels(static_cast<std::size_t>(size));
    if (size == 1) return labels;
    auto const mine = machine_key();
    std::vector<std::uint64_t> keys(labels.size());
    PMPI_Allgather(&mine, 1, MPI_UINT64_T, keys.data(), 1, MPI_UINT64_T, comm);
    if (std::ranges::find(keys, unknown_machine) != keys.end()) return machine_labels_by_mpi(comm);
    std::map<std::uint64_t, std::uint32_t> lowest;
    for (std::uint32_t rank = 0; rank < labels.size(); ++rank)
        labels[rank] = lowest.try_emplace(keys[rank], rank).first->second;
    return labels;
}

std::vector<std::uint32_t> machine_labels_by_mpi(MPI_Comm comm) {
    int rank = 0, size = 1;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    auto lowest = static_cast<std::uint32_t>(rank);
    MPI_Comm machine = MPI_COMM_NULL;
    PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
    PMPI_Bcast(&lowest, 1, MPI_UINT32_T, 0, machine);
    PMPI_Comm_free(&machine);
    std::vector<std::uint32_t> labels(static_cast<std::size_t>(size));
    PMPI_Allgather(&lowest, 1, MPI_UINT32_T, labels.data(), 1, MPI_UINT32_T, comm);
    return labels;
}

Topology place_ranks(std::vector<std::uint32_t> const& machine_labels, Placement placement) {
    auto labels = machine_labels;
    if (placement.messages_only) {
        std::iota(labels.begin(), labels.end(), 0);
    } else if (placement.pretended_nodes > 0) {
        for (auto const& ranks : make_topology(machine_labels).ranks_of) {
            auto const share = div_ceil(ranks.size(), placement.pretended_nodes);
            for (std::size_t i = 0; i < ranks.size(); ++i) labels[ranks[i]] = ranks[i - i % share];
        }
    }
    return make_topology(labels);
}

MpiTeam::Merging::Merging() {
    PMPI_Type_contiguous(sizeof(Meeting), MPI_BYTE, &type);
    PMPI_Type_commit(&type);
    PMPI_Op_create(
        [](void* earlier, void* later, int* count, MPI_Datatype*) {
            auto* first = static_cast<Meeting*>(earlier);
            auto* second = static_cast<Meeting*>(later);
            for (int i = 0; i < *count; ++i) {
                auto merged = first[i];
                merged.merge(second[i]);
                second[i] = merged;
            }
        },
        /*commute=*/0, &operation);
}

MpiTeam::Merging::~Merging() {
    PMPI_Op_free(&operation);
    PMPI_Type_free(&type);
}

MpiTeam::MpiTeam(MPI_Comm comm, Topology topology) : comm_{comm} {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    rank_ = static_cast<std::uint32_t>(rank);
    divide_into_nodes(std::move(topology));
    int meets = meet_on_node() ? 1 : 0;
    if (topology_.nodes() > 1) PMPI_Allreduce(MPI_IN_PLACE, &meets, 1, MPI_INT, MPI_MIN, comm);
    if (meets != 0) return;
    // No shared memory somewhere: every rank is a node of its own, and messages do it all.
    leave_nodes();
    divide_into_nodes(
        place_ranks(std::vector<std::uint32_t>(topology_.ranks()), {.messages_only = true}));
    if (!meet_on_node()) throw std::bad_alloc{};
}

MpiTeam::~MpiTeam() {
    finish_sends(0);
    // After calls that did not go together some may not be whole. All of them is on its way.
    for (auto& receiving : receiving_) wait_for(receiving.requests);
    for (auto& [kind, sending] : deposits_)
        while (!sending.empty()) finish_oldest(sending);
    leave_nodes();
}

void MpiTeam::divide_into_nodes(Topology topology) {
    topology_ = std::move(topology);
    auto const node = topology_.node_of[rank_];
    auto const& ranks = topology_.ranks_of[node];
    local_ranks_ = static_cast<std::uint32_t>(ranks.size());
    local_index_ = static_cast<std::uint32_t>(std::lower_bound(ranks.begin(), ranks.end(), rank_) -
                                              ranks.begin());
    node_ = comm_;
    if (topology_.nodes() == 1) return;
    auto const rank = static_cast<int>(rank_);
    PMPI_Comm_split(comm_, static_cast<int>(node), rank, &node_);
    PMPI_Comm_split(comm_, local_index_ == 0 ? 0 : MPI_UNDEFINED, rank, &leaders_);
}

void MpiTeam::learn_nodes() {
    if (std::exchange(nodes_known_, true)) return;
    std::vector<NodeFacts> nodes(topology_.nodes());
    auto const bytes = static_cast<int>(sizeof(NodeFacts));
    if (local_index_ == 0) {
        auto const own = facts_of_own_node(processor_name());
        nodes[0] = own;
        if (leaders_ != MPI_COMM_NULL)
            PMPI_Allgather(&own, bytes, MPI_BYTE, nodes.data(), bytes, MPI_BYTE, leaders_);
    }
    PMPI_Bcast(nodes.data(), bytes * static_cast<int>(nodes.size()), MPI_BYTE, 0, node_);
    describe_nodes(topology_, nodes);
}

void MpiTeam::leave_nodes() {
    if (node_ != comm_) PMPI_Comm_free(&node_);
    if (leaders_ != MPI_COMM_NULL) PMPI_Comm_free(&leaders_);
}

bool MpiTeam::meet_on_node() {
    control_ = allocate(Rendezvous::bytes_needed(local_ranks_) + sizeof(Shared));
    if (control_.bytes.empty()) return false;
    rendezvous_ = std::make_unique<Rendezvous>(*this, control_.bytes, local_index_, local_ranks_);
    if (local_index_ == 0) shared().secret.choose();
    return true;
}

MpiTeam::Shared& MpiTeam::shared() const {
    auto* const memory = control_.bytes.data() + Rendezvous::bytes_needed(local_ranks_);
    return *std::launder(reinterpret_cast<Shared*>(memory));
}

void MpiTeam::Secret::choose() {
    NodeTeam::Name chosen;
    while (chosen.high == 0)
        if (getrandom(&chosen, sizeof chosen, 0) != sizeof chosen) return;
    low.store(chosen.low, std::memory_order_relaxed);
    high.store(chosen.high, std::memory_order_release);
}

std::optional<NodeTeam::Name> MpiTeam::secret() const {
    auto const& secret = shared().secret;
    auto const high = secret.high.load(std::memory_order_acquire);
    if (high == 0) return std::nullopt;
    return NodeTeam::Name{high, secret.low.load(std::memory_order_relaxed)};
}

SharedPointer::Counters* MpiTeam::take_shared_pointer() {
    for (std::size_t i = 0; i < pointers_taken_.size(); ++i)
        if (!pointers_taken_[i]) {
            pointers_taken_.set(i);
            return &shared().pointers[i];
        }
    return nullptr;
}

void MpiTeam::give_back(SharedPointer::Counters const* pointer) {
    pointers_taken_.reset(static_cast<std::size_t>(pointer - shared().pointers.data()));
}

SharedSegment MpiTeam::share(std::size_t bytes) {
    auto const leads = local_index_ == 0;
    auto segment = leads ? SharedSegment::create(bytes) : SharedSegment{};
    auto socket = leads ? DescriptorSocket::sender() : DescriptorSocket{};
    auto leader = socket.address();
    PMPI_Bcast(&leader, sizeof leader, MPI_BYTE, 0, node_);
    if (!leads) socket = DescriptorSocket::facing(leader);
    auto const mine = socket.address();
    std::vector<DescriptorSocket::Address> others(leads ? local_ranks_ : 0);
    PMPI_Gather(&mine, sizeof mine, MPI_BYTE, others.data(), sizeof mine, MPI_BYTE, 0, node_);
    // A rank enters a barrier with what was sent before the last one: twice as many are on their
    // way at most.
    constexpr std::uint32_t at_once = 64;
    for (std::uint32_t first = 1; first < local_ranks_; first += at_once) {
        auto const last = std::min(first + at_once, local_ranks_);
        // What cannot be sent is missed by who should have got it.
        for (auto rank = first; leads && rank < last; ++rank)
            socket.send(segment.descriptor(), others[rank]);
        PMPI_Barrier(node_);
        if (local_index_ >= first && local_index_ < last)
            segment = SharedSegment::open(socket.receive(), bytes);
    }
    return segment;
}

MpiTeam::Memory MpiTeam::allocate(std::size_t bytes) {
    Memory memory;
    if (local_ranks_ == 1) {
        auto const whole = bytes + 64;
        memory.own.reset(new (std::nothrow) std::byte[whole]{});
        if (memory.own == nullptr) return {};
        auto const start = reinterpret_cast<std::uintptr_t>(memory.own.get());
        memory.bytes = {memory.own.get() + (64 - start % 64), bytes};
        return memory;
    }
    memory.segment = share(bytes);
    int usable =
        !memory.segment.bytes().empty() && memory.segment.take_part(local_index_, local_ranks_);
    PMPI_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_INT, MPI_MIN, node_);
    if (usable == 0) return {};
    memory.bytes = memory.segment.bytes();
    return memory;
}

std::span<std::byte> MpiTeam::node_memory(Area area, std::size_t bytes) {
    auto& memory = areas_[static_cast<std::size_t>(area)];
    if (memory.bytes.size() < bytes) memory = allocate(bytes);
    return memory.bytes;
}

std::shared_ptr<std::span<std::byte> const> MpiTeam::own_node_memory(std::size_t bytes) {
    auto const memory = std::make_shared<Memory>(allocate(bytes));
    if (memory->bytes.empty()) return nullptr;
    return {memory, &memory->bytes};
}

void MpiTeam::idle() {
    send_answers();
    constexpr unsigned progress_every = 8;
    constexpr unsigned call_every = 64;  // few: each takes some ms where ranks share cores
    if (++idle_calls_ % progress_every == 0) {
        int found = 0;
        PMPI_Iprobe(MPI_ANY_SOURCE, tag_of_nothing, comm_, &found, MPI_STATUS_IGNORE);
        if (in_fragments_) start_receiving(MPI_ANY_SOURCE, Kind::answer);
    }
    if (auto* const call = in_every_wait.load(std::memory_order_relaxed)) call();
    if (idle_calls_ % call_every == 0 && when_idle_) when_idle_();
    sched_yield();
}

void MpiTeam::merge(Meeting& meeting) {
    finish_answers();
    if (!merging_) merging_.emplace();
    PMPI_Allreduce(MPI_IN_PLACE, &meeting, 1, merging_->type, merging_->operation, leaders_);
}

void MpiTeam::gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) {
    finish_answers();
    auto const bytes = static_cast<int>(mine.size());
    PMPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm_);
}

void MpiTeam::reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) {
    if (topology_.ranks() == 1) return;
    finish_answers();
    if (reduction == Reduction::minimum) return find_minimum(values);
    PMPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T,
                   reduction == Reduction::unite ? MPI_BOR : MPI_SUM,
                   among == Among::all ? comm_ : node_);
}

void MpiTeam::find_minimum(std::span<std::uint64_t> values) const {
    // MPICH 4.0.2 compares unsigned numbers as signed ones: "nowhere" would be the smallest.
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> signed_values;
    signed_values.reserve(values.size());
    for (auto const value : values)
        signed_values.push_back(
            static_cast<std::int64_t>(std::min(value, static_cast<std::uint64_t>(largest))));
    PMPI_Allreduce(MPI_IN_PLACE, signed_values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                   MPI_MIN, comm_);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = signed_values[i] == largest ? IoResult::nowhere
                                                : static_cast<std::uint64_t>(signed_values[i]);
}

// Longer messages than a fragment are announced by most transports, and wait for the receiver's
// answer. That is right where the network's hardware moves them; over TCP it waits behind all that
// queues on the links, which costs half of their speed (docs/lab/tried.md). TCP is known by how
// long an empty message takes. Trying both takes as long as a small call, so that waits until it is
// a hundredth of what was sent.
void MpiTeam::expect_messages(std::uint64_t bytes) {
    constexpr std::uint64_t enough_to_ask_for = 256 << 10;  // of each rank
    constexpr std::uint64_t enough_to_try_for = 200 << 20;  // of each node
    if (topology_.nodes() == 1) return;
    expected_bytes_ += bytes;
    if (!network_asked_ && expected_bytes_ / topology_.ranks() >= enough_to_ask_for) {
        constexpr double hardware_s = 16e-6;
        auto seconds = local_index_ == 0 ? seconds_to_neighbour() : never_s;
        PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MIN, comm_);
        send_in_fragments(seconds > hardware_s);
        network_asked_ = true;
    }
    if (!messages_tried_ && expected_bytes_ / topology_.nodes() >= enough_to_try_for) {
        std::array seconds{0.0, 0.0};
        if (local_index_ == 0) seconds = try_messages();
        PMPI_Allreduce(MPI_IN_PLACE, seconds.data(), 2, MPI_DOUBLE, MPI_MAX, comm_);
        // Over TCP fragments take 0.58 to 0.95 of the time, in shared memory 1.4 to 3 times as
        // long.
        constexpr double clearly = 1.2;
        send_in_fragments(seconds[1] < clearly * seconds[0]);
        messages_tried_ = true;
    }
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
        std::erase_if(under_way, [](Part& part) {
            auto const left = is_done(part.request);
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
        if (begun && are_done(oldest->requests)) return take(oldest).message;
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
        if (are_done(receiving->requests)) return take(receiving);
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
    PMPI_Mrecv(message.data(), bytes, MPI_BYTE, &matched, MPI_STATUS_IGNORE);
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

void MpiTeam::finish_deposits(Kind kind) {
    auto& sending = deposits_[kind];
    while (!sending.empty()) finish_oldest(sending);
    deposits_.erase(kind);
}

// Nobody waits for deposits, so their memory is given back when there are more.
void MpiTeam::drop_sent(std::deque<Sending>& sending) {
    while (!sending.empty() && are_done(sending.front().requests)) sending.pop_front();
}

void MpiTeam::finish_oldest(std::deque<Sending>& sending) {
    auto& oldest = sending.front();
    while (oldest.in_turn > 0 || (!answers_.empty() && !are_done(oldest.requests))) idle();
    wait_for(oldest.requests);
    sending.pop_front();
}

}  // namespace unisono::interpose
