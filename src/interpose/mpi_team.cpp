#include "interpose/mpi_team.hpp"

#include <sched.h>
#include <sys/random.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "exchange/descriptor_socket.hpp"
#include "exchange/learn_nodes.hpp"
#include "interpose/own_communicator.hpp"

namespace unisono::interpose {

// MPICH's MPI_Iprobe drives progress only if it finds nothing: no message has this tag.
void make_progress(MPI_Comm comm) {
    constexpr int tag_of_nothing = 0;
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, tag_of_nothing, comm, &found, MPI_STATUS_IGNORE);
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
    finish_messages();
    leave_nodes();
}

void MpiTeam::divide_into_nodes(Topology topology) {
    topology_ = std::move(topology);
    auto const node = topology_.node_of[rank_];
    auto const& ranks = topology_.ranks_of[node];
    local_ranks_ = static_cast<std::uint32_t>(ranks.size());
    local_index_ = static_cast<std::uint32_t>(std::lower_bound(ranks.begin(), ranks.end(), rank_) -
                                              ranks.begin());
    auto const all_on_one = topology_.nodes() == 1;
    auto const each_on_its_own = topology_.nodes() == topology_.ranks();
    node_ = each_on_its_own ? MPI_COMM_NULL : comm_;
    leaders_ = all_on_one ? MPI_COMM_NULL : comm_;
    if (all_on_one || each_on_its_own) return;
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
    if (local_ranks_ > 1)
        PMPI_Bcast(nodes.data(), bytes * static_cast<int>(nodes.size()), MPI_BYTE, 0, node_);
    describe_nodes(topology_, nodes);
}

void MpiTeam::leave_nodes() {
    for (auto* made : {&node_, &leaders_})
        if (*made != comm_ && *made != MPI_COMM_NULL) PMPI_Comm_free(made);
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

NodeMemory MpiTeam::allocate(std::size_t bytes) {
    if (local_ranks_ == 1) return NodeMemory::of_one_rank(bytes);
    NodeMemory memory;
    memory.segment = share(bytes);
    int usable =
        !memory.segment.bytes().empty() && memory.segment.take_part(local_index_, local_ranks_);
    PMPI_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_INT, MPI_MIN, node_);
    if (usable == 0) return {};
    memory.bytes = memory.segment.bytes();
    return memory;
}

std::shared_ptr<std::span<std::byte> const> MpiTeam::own_node_memory(std::size_t bytes) {
    auto const memory = std::make_shared<NodeMemory>(allocate(bytes));
    if (memory->bytes.empty()) return nullptr;
    return {memory, &memory->bytes};
}

void MpiTeam::idle() {
    send_answers();
    constexpr unsigned progress_every = 8;
    constexpr unsigned call_every = 64;  // few: each takes some ms where ranks share cores
    if (++idle_calls_ % progress_every == 0) {
        make_progress(comm_);
        if (in_fragments_) start_receiving(MPI_ANY_SOURCE, Kind::answer);
    }
    if (auto* const call = in_every_wait.load(std::memory_order_relaxed)) call();
    if (idle_calls_ % call_every == 0 && when_idle_) when_idle_();
    sched_yield();
}

void MpiTeam::merge(Meeting& meeting) {
    finish_answers();
    if (!merging_) merging_.emplace();
    meeting.number = ++meetings_;
    PMPI_Allreduce(MPI_IN_PLACE, &meeting, 1, merging_->type, merging_->operation, leaders_);
    // Over a broken connection MPICH 4.0.2 reduces what it has in memory, and calls it a success.
    auto const all_came = meeting.number == meetings_ && meeting.leaders == topology_.nodes();
    if (!all_came) require_success(MPI_ERR_OTHER, comm_);
}

void MpiTeam::gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) {
    finish_answers();
    auto const bytes = static_cast<int>(mine.size());
    PMPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm_);
}

void MpiTeam::reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) {
    if (topology_.ranks() == 1 || (among == Among::node && local_ranks_ == 1)) return;
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

}  // namespace unisono::interpose
