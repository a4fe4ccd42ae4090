#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "exchange/meeting.hpp"
#include "exchange/message.hpp"
#include "unisono/topology.hpp"

namespace unisono {

/// What ranks have said to each other, as one of them counts it.
struct Traffic {
    std::uint64_t messages = 0;
    std::uint64_t message_bytes = 0;
    std::uint64_t reductions = 0;     ///< gathers, minima, and merges over leaders
    std::uint64_t reduced_bytes = 0;  ///< that this rank brought to them
    std::uint64_t meetings = 0;       ///< of all ranks
    std::uint64_t barriers = 0;       ///< of this node's ranks

    friend Traffic operator-(Traffic const& now, Traffic const& before) {
        return {now.messages - before.messages,     now.message_bytes - before.message_bytes,
                now.reductions - before.reductions, now.reduced_bytes - before.reduced_bytes,
                now.meetings - before.meetings,     now.barriers - before.barriers};
    }
    friend bool operator==(Traffic const&, Traffic const&) = default;
};

/// The ranks that do collective calls on a file together, as this rank sees them: who they are,
/// and the few ways in which they talk. Implemented over MPI (interpose/); for tests over threads,
/// and over simulated ranks on a virtual clock (testbed/simulated/). All calls without "local" in
/// their comment are collective over the team.
///
/// What goes through it is counted here, whoever sends it: what a call has cost is the difference
/// of traffic() after it and before.
class Team {
public:
    /// Of a message; each in order. An `answer` is waited for, and taken before its receiver comes
    /// to anything collective over all ranks; `data` may come before anybody wants it. From
    /// `deposit` on there is one for each file (deposits_of).
    enum class Kind : std::uint16_t { data, answer, request, turn, view, deposit };
    enum class Area : std::uint8_t { windows, coverage, mail };  ///< of node memory
    static constexpr std::size_t areas = 3;
    enum class Among : std::uint8_t { all, node };  ///< whose values count
    enum class Reduction : std::uint8_t { minimum, unite, sum };

    virtual ~Team() = default;

    [[nodiscard]] virtual std::uint32_t rank() const = 0;
    [[nodiscard]] virtual Topology const& topology() const = 0;

    /// Memory shared by the ranks of this node, at least `bytes`, zero when new; the caller's own
    /// until it lets go of it. Collective over the node. Null on every rank of the node when there
    /// is none to be had.
    virtual std::shared_ptr<std::span<std::byte> const> own_node_memory(std::size_t bytes) = 0;

    /// The same, but the team's: it stays as it is until a call asks for more. Empty when there is
    /// none to be had.
    virtual std::span<std::byte> node_memory(Area area, std::size_t bytes) {
        auto& memory = areas_[static_cast<std::size_t>(area)];
        auto const known = [&] { return memory == nullptr ? std::span<std::byte>{} : *memory; };
        if (known().size() < bytes) memory = own_node_memory(bytes);
        return known();
    }

    /// Local: whether send() takes more than empty messages of Kind::turn.
    [[nodiscard]] virtual bool carries_messages() const { return true; }

    /// Local: lets MPI make progress and gives up the core. To be called in every wait, because a
    /// peer may need this rank's progress to get here.
    virtual void idle() = 0;

    /// Local, thread-safe: gives up the core, in waits for a rank that needs nobody to go on.
    virtual void give_way() { std::this_thread::yield(); }

    /// Merges over node leaders in node order; called by leaders only, all of them.
    void merge_over_leaders(Meeting& meeting) {
        note_reduction(sizeof meeting);
        merge(meeting);
    }

    /// Every rank's bytes, equally many, by rank.
    void gather(std::span<std::byte const> mine, std::span<std::byte> all) {
        assert(all.size() == mine.size() * topology().ranks());
        note_reduction(mine.size());
        gather_bytes(mine, all);
    }
    /// The same for values.
    template <class Value>
    std::vector<Value> gather_values(std::span<Value const> mine) {
        static_assert(std::is_trivially_copyable_v<Value>);
        std::vector<Value> all(mine.size() * topology().ranks());
        gather(std::as_bytes(mine), std::as_writable_bytes(std::span{all}));
        return all;
    }
    /// Elementwise minimum over all ranks. Values above 2^63 - 1 count, and come back, as
    /// IoResult::nowhere.
    void minimum(std::span<std::uint64_t> values) {
        note_reduction(values.size_bytes());
        reduce(values, Reduction::minimum, Among::all);
    }

    /// The bits that any rank has, of all or of this rank's node.
    void unite(std::span<std::uint64_t> bits, Among among) {
        note_reduction(bits.size_bytes());
        reduce(bits, Reduction::unite, among);
    }

    /// Elementwise sum, over all or over this rank's node.
    void sum(std::span<std::uint64_t> values, Among among) {
        note_reduction(values.size_bytes());
        reduce(values, Reduction::sum, among);
    }

    /// So many bytes are about to be asked for, some of which may go between nodes; they are read
    /// over links that were seen to be fast, or not. May try how the network takes long messages
    /// best.
    virtual void expect_messages(std::uint64_t /*bytes*/, bool /*read_over_fast_links*/) {}

    /// Local: starts to send a message; never blocks.
    void send(std::uint32_t to, Kind kind, Message message) {
        assert(to < topology().ranks());
        ++traffic_.messages;
        traffic_.message_bytes += message.size();
        start_sending(to, kind, std::move(message));
    }
    /// Local: the next message of that kind from that rank; waits for it.
    virtual Message receive(std::uint32_t from, Kind kind) = 0;
    struct Received {
        std::uint32_t from = 0;
        Message message;
    };
    /// Local: a message of that kind from any rank, if one is there.
    virtual std::optional<Received> receive_any(Kind kind) = 0;
    /// Local: the same, and waits for one.
    Received receive_next(Kind kind) {
        auto received = receive_any(kind);
        for (; !received; received = receive_any(kind)) idle();
        return std::move(*received);
    }
    /// Local: waits until all but the `still_under_way` newest messages have left, deposits apart:
    /// these may not be taken before another call of their own file. Those that stay move while
    /// this rank waits, here or elsewhere.
    virtual void finish_sends(std::size_t still_under_way) = 0;
    /// Local: waits until all of one file's have left; once their receivers have taken them all.
    virtual void finish_deposits(Kind kind) = 0;

    [[nodiscard]] static bool is_deposit(Kind kind) { return kind >= Kind::deposit; }
    /// The kind of messages for deposits of a file; its number is equal on all ranks.
    static Kind deposits_of(std::uint32_t file) {
        constexpr std::uint32_t different = 16384;  // MPI promises twice as many tags
        return static_cast<Kind>(static_cast<std::uint16_t>(Kind::deposit) + file % different);
    }
    /// Ranks have made calls that cannot go together: from now on they agree on each one. Local,
    /// but all of them have to.
    void stop_deposits() { deposits_stopped_ = true; }
    [[nodiscard]] bool deposits_stopped() const { return deposits_stopped_; }

    /// Local: since the team was made.
    [[nodiscard]] Traffic const& traffic() const { return traffic_; }
    /// Local: for the meeting points of the team's ranks.
    void note_meeting() { ++traffic_.meetings; }
    void note_barrier() { ++traffic_.barriers; }

protected:
    /// What two ranks' values come to.
    static std::uint64_t reduced(Reduction reduction, std::uint64_t one, std::uint64_t other) {
        switch (reduction) {
            case Reduction::minimum:
                return std::min(one, other);
            case Reduction::unite:
                return one | other;
            case Reduction::sum:
                break;
        }
        return one + other;
    }

private:
    virtual void merge(Meeting& meeting) = 0;
    virtual void gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) = 0;
    virtual void reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) = 0;
    virtual void start_sending(std::uint32_t to, Kind kind, Message message) = 0;

    void note_reduction(std::size_t bytes) {
        ++traffic_.reductions;
        traffic_.reduced_bytes += bytes;
    }

    std::array<std::shared_ptr<std::span<std::byte> const>, areas> areas_;  // by Area
    Traffic traffic_;
    bool deposits_stopped_ = false;
};

}  // namespace unisono
