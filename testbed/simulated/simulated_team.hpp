#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exchange/rendezvous.hpp"
#include "model/random.hpp"
#include "simulated/actors.hpp"
#include "simulated/conditions.hpp"
#include "simulated/served_reads.hpp"
#include "simulated/zeroed_memory.hpp"
#include "unisono/plan.hpp"

namespace unisono::simulated {

class SimulatedTeam;

/// How a run of a team ended.
struct Ended {
    std::uint64_t digest = 0;             ///< of the order of events: equal when a run is repeated
    double virtual_s = 0;                 ///< that it took on the virtual clock
    std::vector<std::uint64_t> awaits;    ///< of each rank
    std::vector<std::uint64_t> accesses;  ///< of each rank to the file
    ByDirection<std::uint64_t> failed;    ///< accesses that conditions had fail
    std::vector<std::string> failures;    ///< what ranks threw
    /// Not empty: none of the ranks that are left could ever go on; where each of them stood.
    std::vector<std::string> deadlock;
};

/// Test equipment: a team whose ranks are actors in one thread, on a virtual clock, under
/// conditions that are made up from a seed. Equal conditions and bodies make equal runs, event by
/// event.
///
/// Messages take their time and overtake each other, but for those of one kind between the same two
/// ranks; collective operations return at different times; ranks pause at every await point; a node
/// has memory or not. When no rank can go on, the run ends and says where each rank stands.
class SimulatedTeams {
public:
    using Body = std::function<void(SimulatedTeam&, Rendezvous&)>;

    SimulatedTeams(Topology topology, Conditions conditions);
    ~SimulatedTeams();
    SimulatedTeams(SimulatedTeams const&) = delete;
    SimulatedTeams& operator=(SimulatedTeams const&) = delete;

    /// These servers stand behind the network's links, and reads wait for them. Before run().
    void serve_reads(ServersModel const& model);
    [[nodiscard]] ServedReads const& served_reads() const { return *reads_; }

    /// Runs `body` on every rank, each with its team and rendezvous. Once.
    Ended run(Body const& body);

    /// Memory that a node's ranks share, in bytes; of the node that has most.
    [[nodiscard]] std::size_t node_memory_bytes() const;

    /// Called with each event of the run, in order.
    std::function<void(Event const&)> trace;

private:
    friend class SimulatedTeam;

    /// What ranks bring to one collective operation, and who waits for the others.
    struct Gathering {
        std::vector<std::byte> bytes;       // of all, one after the other
        std::vector<std::uint64_t> values;  // or what they come to
        std::size_t bytes_each = 0;
        std::size_t present = 0;
        bool complete = false;
        std::vector<std::uint32_t> waiting;
        std::shared_ptr<ZeroedMemory> memory;  // of the node, that it is about
    };
    struct Node {
        ZeroedMemory control;
        ZeroedMemory areas[Team::areas];
        std::vector<ZeroedMemory> outgrown;  // other ranks may still look at them
        std::vector<std::uint32_t> idle;
        std::shared_ptr<Gathering> memory_wishes;
        std::shared_ptr<Gathering> reductions;
        bool lacks_memory = false;
    };
    struct Parcel {
        Message message;
        std::uint32_t from = 0;
        double arrives_s = 0;
        std::shared_ptr<Crossing> crossing;  // null: it arrives when it says
        bool synchronous = false;            // it has left when it is received
        bool received = false;
        bool sender_waits = false;
    };
    struct Channel {
        std::uint32_t from = 0;
        Team::Kind kind = Team::Kind::data;
        std::deque<std::shared_ptr<Parcel>> parcels;
        std::optional<double> first_comes_s;  // as it stands in first_parcels_
        double last_arrival_s = 0;
        bool receiver_waits = false;
    };

    [[nodiscard]] Node& node_of(std::uint32_t rank) { return nodes_[topology_.node_of[rank]]; }
    [[nodiscard]] bool has_ended(std::uint32_t rank) const;
    void run_rank(std::uint32_t rank, Body const& body);
    void run_servers();
    void note(Event const& event);
    void mix(std::uint64_t value);

    Topology topology_;
    Conditions conditions_;
    Actors actors_;
    std::optional<Links> links_;
    std::optional<ServedReads> reads_;
    double begun_s_;
    std::vector<Node> nodes_;
    std::size_t most_on_a_node_ = 1;  // ranks
    std::vector<std::unique_ptr<SimulatedTeam>> teams_;
    std::map<Await, std::shared_ptr<Gathering>> gatherings_;  // by operation: those not complete
    Ended ended_;
};

/// One rank of it. What is not of Team is for test equipment that waits, too.
class SimulatedTeam final : public Team {
public:
    SimulatedTeam(SimulatedTeams& all, std::uint32_t rank);
    ~SimulatedTeam() override;

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] Topology const& topology() const override { return all_.topology_; }
    std::span<std::byte> node_memory(Area area, std::size_t bytes) override;
    std::shared_ptr<std::span<std::byte> const> own_node_memory(std::size_t bytes) override;
    void idle() override;
    void give_way() override { idle(); }
    Message receive(std::uint32_t from, Kind kind) override;
    std::optional<Received> receive_any(Kind kind) override;
    void finish_sends(std::size_t still_under_way) override;
    void finish_deposits(Kind kind) override;

    /// What the rank is at, for the report of a deadlock.
    void say(std::string what) { at_ = std::move(what); }
    /// An access to the file of so many bytes begins: takes its time. Returns an errno if it is to
    /// fail, else 0.
    int begin_access(std::uint64_t bytes);
    /// Where the network has data servers: bytes that cross to or from one of them from now on.
    std::shared_ptr<Crossing> begin_crossing(Direction direction, std::uint32_t server,
                                             std::uint64_t bytes, std::uint64_t requests);
    /// Waits for them.
    void finish_crossing(Direction direction, std::uint32_t server, Crossing const& crossing);
    /// With serve_reads(): asks a server for bytes of the file's object there. `reads` count it.
    void begin_read(std::uint32_t server, Extent object, std::shared_ptr<Reads> const& reads);
    /// Waits for all of them.
    void finish_reads(Reads& reads);
    /// Operations of MPI that cost so much on each rank: all ranks come, and leave after it.
    void all_ranks_take(double seconds);
    /// Messages that have been sent to this rank.
    [[nodiscard]] std::uint64_t messages_to_it() const { return messages_to_it_; }
    /// It did fail.
    void note_failed(Direction direction) { ++all_.ended_.failed[direction]; }
    /// How many accesses of all ranks have failed so far.
    [[nodiscard]] std::uint64_t failed(Direction direction) const {
        return all_.ended_.failed[direction];
    }
    [[nodiscard]] Conditions const& conditions() const { return all_.conditions_; }
    [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return random_.below(limit); }
    /// True once no rank can go on.
    [[nodiscard]] bool unwinding() const { return all_.actors_.unwinding(); }

private:
    friend class SimulatedTeams;
    using Parcel = SimulatedTeams::Parcel;
    using Channel = SimulatedTeams::Channel;
    using Gathering = SimulatedTeams::Gathering;

    void merge(Meeting& meeting) override;
    void gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) override;
    void reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) override;
    void start_sending(std::uint32_t to, Kind kind, Message message) override;

    void begin(Await await, std::uint64_t detail);
    void pause();
    void be_busy_with_message();
    void delay();
    void wake_neighbours();
    template <class Condition>
    void wait_until(Condition&& condition);
    [[nodiscard]] bool has_met() const;
    [[nodiscard]] bool has_come_on() const;
    [[nodiscard]] Channel& channel_from(std::uint32_t rank, Kind kind);
    [[nodiscard]] bool may_overtake(Channel const& channel) const;
    [[nodiscard]] double arrival(Channel& channel);
    void wait_for_arrival(Parcel const& parcel);
    void sleep_until(double at_s);
    [[nodiscard]] std::shared_ptr<Parcel> take_next(Channel& channel);
    void note_first_parcel(Channel& channel);
    Message open(Parcel& parcel);
    void finish(std::deque<std::shared_ptr<Parcel>>& sent, std::size_t still_under_way);
    template <class Bring>
    std::shared_ptr<Gathering> take_part(std::shared_ptr<Gathering>& under_way, std::size_t count,
                                         std::size_t bytes, Bring&& bring);
    std::shared_ptr<Gathering> bring_bytes(std::shared_ptr<Gathering>& under_way, std::size_t index,
                                           std::size_t count, std::span<std::byte const> mine);
    void take_time_for(std::size_t nodes, std::size_t ranks_of_node, std::uint64_t bytes_a_step,
                       std::uint64_t bytes = 0);
    std::shared_ptr<Gathering> ask_for_memory(std::size_t bytes);
    std::span<std::byte> more_node_memory(Area area, std::size_t bytes);
    [[nodiscard]] std::string place() const;

    SimulatedTeams& all_;
    std::uint32_t rank_;
    testbed::Random random_;
    std::uint64_t awaits_ = 0;
    std::uint64_t accesses_ = 0;
    std::uint64_t messages_to_it_ = 0;
    double busy_s_ = 0;                              // with messages, not yet passed
    std::array<std::span<std::byte>, areas> areas_;  // of its node's, as far as it knows
    Await await_ = Await::send;
    std::uint64_t detail_ = 0;
    Kind kind_ = Kind::data;
    std::string at_;
    bool ended_ = false;
    Traffic seen_;                                                // when it last let others run
    char const* waits_at_ = "";                                   // idle: the meeting point
    double patience_s_ = tick_s;                                  // idle: until it looks again
    std::map<std::pair<std::uint32_t, Kind>, Channel> channels_;  // by who sends to this rank
    std::map<Kind, std::set<std::pair<double, std::uint32_t>>> first_parcels_;  // when, from whom
    std::deque<std::shared_ptr<Parcel>> sent_;
    std::map<Kind, std::deque<std::shared_ptr<Parcel>>> deposits_;
};

}  // namespace unisono::simulated
