#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestra/grant.hpp"
#include "orchestra/schedule.hpp"

namespace unisono::orchestra {

/// A turn that is over.
struct TurnRecord {
    Time begin = 0;
    Time end = 0;
    std::string object;  ///< its programs, or "pool"
};

/// Whose requests pass now, for those who ask somewhere else.
struct Admitted {
    enum class Kind : std::uint8_t { everyone, only, all_but };
    Kind kind = Kind::everyone;
    std::vector<std::string> programs;
    friend bool operator==(Admitted const&, Admitted const&) = default;
};

/// Says whose requests pass a gate: the iScheduler of iorchestrator-sc10, section III.C, which lets
/// through what matches the current object. Told of every request and of the time; asks nobody.
///
/// Differs: the whole schedule comes at once with a lease, and the gate goes from object to object
/// by itself. So a lost or dead orchestrator stops nobody: the turns go on, and when the lease is
/// over everything passes. Programs that no object names pass at any time, unless there is a pool.
/// Not thread-safe. arrived() and its like cost O(log programs), advance() O(programs), a change of
/// turn O(programs x objects).
class SliceScheduler {
public:
    /// False: its epoch is not newer than the last. An object that has its turn keeps it.
    bool adopt(Schedule schedule, Time now);
    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

    [[nodiscard]] bool is_open() const { return schedule_.objects.empty(); }
    [[nodiscard]] bool admits(std::string_view program) const;
    [[nodiscard]] Grant grant(std::string_view program) const;
    /// The same for all programs at once. O(programs).
    [[nodiscard]] Admitted admitted() const;

    /// A request is here. `held`: it waits, and released() will follow.
    void arrived(std::string_view program, bool held, Time now);
    void released(std::string_view program);
    void finished(std::string_view program, Time now);

    /// Lets turns end that are over. True: others may be admitted now than before.
    bool advance(Time now);
    /// When to call advance() although nothing arrives or finishes.
    [[nodiscard]] Time next_event() const;

    struct Demand {
        std::uint64_t held = 0;
        std::uint64_t under_way = 0;
        Time last = 0;  ///< when something of it last came or ended
    };
    /// What a program wants; null if it never wanted anything.
    [[nodiscard]] Demand const* demand(std::string_view program) const;
    void forget(std::string_view program);
    /// What was under way is not known any more.
    void clear_demands() { demands_.clear(); }

    /// The last turns, the oldest first, the present one left out.
    [[nodiscard]] std::vector<TurnRecord> const& history() const { return history_; }
    void clear_history() { history_.clear(); }

private:
    using Index = std::optional<std::size_t>;

    [[nodiscard]] Index object_of(std::string_view program) const;
    [[nodiscard]] Demand demand_of(std::size_t object) const;
    [[nodiscard]] bool wants(std::size_t object) const;
    [[nodiscard]] bool others_want() const;
    [[nodiscard]] Time idle_end() const;
    [[nodiscard]] std::size_t next_object() const;
    [[nodiscard]] std::string label(std::size_t object) const;
    void index_objects();
    void begin_turn(std::size_t object, Time now);
    void end_turn(Time now);
    void open(Time now);

    Schedule schedule_;
    std::uint64_t epoch_ = 0;
    Time lease_end_ = never;
    std::map<std::string, std::size_t, std::less<>> objects_;
    Index pool_;
    std::size_t current_ = 0;
    Time turn_begin_ = 0;  // or since when it is open
    Time turn_end_ = never;
    std::map<std::string, Demand, std::less<>> demands_;
    std::vector<TurnRecord> history_;
};

}  // namespace unisono::orchestra
