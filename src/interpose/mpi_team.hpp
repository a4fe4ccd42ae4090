#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <bitset>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include "exchange/node_memory.hpp"
#include "exchange/node_team.hpp"
#include "exchange/rendezvous.hpp"
#include "exchange/team.hpp"
#include "interpose/machines.hpp"
#include "interpose/shared_pointer.hpp"

namespace unisono::interpose {

/// Lets MPI make progress. Local.
void make_progress(MPI_Comm comm);

/// A Team over an MPI communicator of Unisono's own. Uses PMPI_ names only.
class MpiTeam final : public Team {
public:
    /// Collective over `comm`, which must outlive the team. Cost on one node: a broadcast, a
    /// gather, a barrier for every 64 ranks and a reduction.
    MpiTeam(MPI_Comm comm, Topology topology);
    ~MpiTeam() override;
    MpiTeam(MpiTeam const&) = delete;
    MpiTeam& operator=(MpiTeam const&) = delete;

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] Topology const& topology() const override { return topology_; }
    std::shared_ptr<std::span<std::byte> const> own_node_memory(std::size_t bytes) override;
    void idle() override;
    /// Now and then while this rank is idle, from then on.
    void call_when_idle(std::function<void()> call) { when_idle_ = std::move(call); }
    [[nodiscard]] bool calls_when_idle() const { return static_cast<bool>(when_idle_); }
    /// The same for all teams, and often.
    static void call_in_every_wait(void (*call)()) { in_every_wait = call; }
    /// What call_when_idle() was given, from a rank that waits elsewhere.
    void look_around() const {
        if (when_idle_) when_idle_();
    }
    Message receive(std::uint32_t from, Kind kind) override;
    std::optional<Received> receive_any(Kind kind) override;
    void finish_sends(std::size_t still_under_way) override;
    void finish_deposits(Kind kind) override;
    void expect_messages(std::uint64_t bytes, bool read_over_fast_links) override;

    /// Completes the topology with what nodes are called and what they have. Collective the first
    /// time; cost then: 80 bytes a node, by its first rank.
    void learn_nodes();
    /// Local. It is made anew if leaders meet once more.
    void free_datatype() { merging_.reset(); }

    /// Local: long messages of this rank go in fragments from now on, or whole. Others receive
    /// both.
    void send_in_fragments(bool fragments) { in_fragments_ = fragments; }
    /// Local: likewise, and the network is not asked how it likes them. On all ranks.
    void always_send_in_fragments(bool fragments) {
        send_in_fragments(fragments);
        fragments_decided_ = true;
    }
    /// Local: no message goes whole that has more bytes. For tests.
    void send_whole_at_most(std::size_t bytes) { whole_most_ = bytes; }

    [[nodiscard]] Rendezvous& rendezvous() { return *rendezvous_; }

    /// Local: 128 secret bits that this node's ranks have in common, once its first one has chosen
    /// them.
    [[nodiscard]] std::optional<NodeTeam::Name> secret() const;

    /// Memory of the node's ranks for one more shared file pointer; null when there is none left.
    /// All ranks take and give back in the same order.
    [[nodiscard]] SharedPointer::Counters* take_shared_pointer();
    void give_back(SharedPointer::Counters const* pointer);

private:
    /// By what the node's ranks find each other without MPI.
    struct Secret {
        std::atomic<std::uint64_t> low;
        std::atomic<std::uint64_t> high;  ///< not 0 when both are there
        void choose();
    };

    /// In memory that the node's ranks share, behind the places where they meet.
    struct Shared {
        Secret secret;
        std::array<SharedPointer::Counters, 64> pointers;
    };

    /// The MPI operation that merges a meeting over leaders, in rank order.
    struct Merging {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Op operation = MPI_OP_NULL;
        Merging();
        ~Merging();
    };

    struct Sending {
        std::vector<MPI_Request> requests;
        Message message;
        Message first;            ///< fragment, where it goes in fragments
        std::size_t in_turn = 0;  ///< so many parts of it are in `answers_`
    };

    /// Of an answer that goes part by part.
    struct Part {
        std::uint32_t to;
        std::span<std::byte const> bytes;
        Sending* sending;  ///< it is part of
        MPI_Request request = MPI_REQUEST_NULL;
    };

    /// Of answers to one node's ranks, while any is under way.
    struct Answers {
        std::deque<Part> unsent;
        std::vector<Part> under_way;
    };

    struct Receiving {
        std::uint32_t from;
        Kind kind;
        Message message{};
        std::vector<MPI_Request> requests{};  ///< for what has not come yet
    };

    void merge(Meeting& meeting) override;
    void gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) override;
    void reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) override;
    void find_minimum(std::span<std::uint64_t> values) const;
    void start_sending(std::uint32_t to, Kind kind, Message message) override;
    void finish_messages();
    void drop_sent(std::deque<Sending>& sending) const;
    void finish_oldest(std::deque<Sending>& sending);
    void send_answers();
    void finish_answers();
    bool start_receiving(int from, Kind kind);
    Received take(std::list<Receiving>::iterator receiving);
    [[nodiscard]] double seconds_to_neighbour();
    [[nodiscard]] std::array<double, 2> try_messages();
    double send_around();

    void divide_into_nodes(Topology topology);
    void leave_nodes();
    [[nodiscard]] bool meet_on_node();
    [[nodiscard]] Shared& shared() const;
    /// The node's first rank makes a segment and hands its descriptor to the others. Empty where
    /// that did not work, perhaps on some ranks only. Collective over the node.
    [[nodiscard]] SharedSegment share(std::size_t bytes);
    /// Empty on every rank of the node when there is none to be had. Collective over the node.
    [[nodiscard]] NodeMemory allocate(std::size_t bytes);

    MPI_Comm comm_;
    std::uint32_t rank_ = 0;
    Topology topology_;
    MPI_Comm node_ = MPI_COMM_NULL;     // comm_ itself when there is one node; then no leaders_
    MPI_Comm leaders_ = MPI_COMM_NULL;  // comm_ itself when each rank is a node; then no node_
    std::uint32_t local_index_ = 0;
    std::uint32_t local_ranks_ = 1;
    NodeMemory control_;
    std::unique_ptr<Rendezvous> rendezvous_;
    std::bitset<std::tuple_size_v<decltype(Shared::pointers)>> pointers_taken_;
    std::optional<Merging> merging_;
    std::uint32_t meetings_ = 0;                    // of leaders
    std::deque<Sending> sending_;                   // addresses stay: MPI writes to them
    std::map<Kind, std::deque<Sending>> deposits_;  // likewise
    std::map<std::uint32_t, Answers> answers_;      // by the receiver's node
    std::list<Receiving> receiving_;                // in the order in which they began
    std::uint64_t expected_bytes_ = 0;
    bool fragments_decided_ = false;
    bool network_asked_ = false;
    bool messages_tried_ = false;
    bool fragments_suit_ = false;                               // as far as was asked and tried
    bool in_fragments_ = false;                                 // long messages
    std::size_t whole_most_ = std::numeric_limits<int>::max();  // as MPI counts them
    unsigned idle_calls_ = 0;
    std::function<void()> when_idle_;
    inline static std::atomic<void (*)()> in_every_wait = nullptr;
    bool nodes_known_ = false;
};

}  // namespace unisono::interpose
