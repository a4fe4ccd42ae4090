#pragma once

#include <map>
#include <string>
#include <vector>

#include "orchestra/report.hpp"

namespace unisono::orchestra {

/// What turns bring: bytes per time that came to an end of the same programs, with turns and
/// without: what a gate let in, less the share by which more is under way. Who begins fills the
/// servers first. What a request takes of a server's time says nothing of the time that nobody
/// used: programs that are slow to ask leave it idle in their own slices, and would have used each
/// other's.
///
/// For each set of programs that wanted something together, because others want another amount;
/// windows in which one of them wanted nothing do not count. Recent ones do more (7/8 of what was
/// before).
class Payoff {
public:
    /// Before each decision: what came since the one before was with or without turns as decided().
    void observe(Report const& report, std::vector<ProgramReport const*> const& programs);
    void decided(bool turns) { turns_ = turns; }

    /// Of the programs that were observed last.
    struct Shares {
        double bytes = 0;
        double requests = 0;
        double under_way = 0;  ///< at the windows' ends, added up
    };
    struct Rate {
        std::vector<Shares> programs;
        double ms = 0;
        int windows = 0;
        double weighted_windows = 0;
        [[nodiscard]] double mb_s() const;
        [[nodiscard]] double mb_s_of(std::size_t program) const;
        /// How long its requests stay in the servers, by how many are there and how many come to an
        /// end (Little's law).
        [[nodiscard]] double stay_ms_of(std::size_t program) const;
        void add(std::vector<Shares> const& more, double more_ms);
    };
    [[nodiscard]] Rate const& with() const { return rates_.at(programs_).with; }
    [[nodiscard]] Rate const& without() const { return rates_.at(programs_).without; }

    /// How many times as much that program gets with turns; 1 if that is not known.
    [[nodiscard]] double gain_of(std::size_t program) const;
    /// Turns have cost: clearly within two windows, or brought next to nothing in eight.
    [[nodiscard]] bool turns_cost() const;
    /// They brought more than there is without them by now.
    [[nodiscard]] bool turns_pay() const;
    [[nodiscard]] bool knows_without() const;
    /// They were taken for a while, and how it is without them was never seen, or when programs
    /// were up to something else.
    [[nodiscard]] bool needs_a_look() const;
    /// Those who try again begin anew.
    void forget_turns();
    void forget_without();

private:
    struct Rates {
        Rate with;
        Rate without;
        bool changed = false;   // speed, by much and with turns; it counts once per attempt
        bool outdated = false;  // what is known without, since then
    };

    std::string programs_;
    std::map<std::string, Rates> rates_ = {{"", {}}};
    std::vector<Shares> seen_;  // by program, at the last observation
    double now_ms_ = 0;         // then
    bool turns_ = false;
};

}  // namespace unisono::orchestra
