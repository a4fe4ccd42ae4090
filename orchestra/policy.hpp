#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchestra/report.hpp"
#include "orchestra/schedule.hpp"
#include "orchestra/seek_profile.hpp"

namespace unisono::orchestra {

/// What a policy thinks of one program.
struct Eligibility {
    std::string program;
    bool eligible = false;  ///< for dedicated service
    std::string why;
};

/// What is to happen until the next decision.
struct Decision {
    Time window = 0;  ///< when to decide again; the slices add up to it
    bool work_conserving = false;
    std::vector<SchedulingObject> objects;  ///< none: everyone is served
    std::vector<Eligibility> eligibilities;
};

/// The orchestrator of iorchestrator-sc10, section III.C: which programs get the servers to
/// themselves, and for how long. A function of the reports so far; knows no clock and no gate.
class Policy {
public:
    Policy() = default;
    Policy(Policy const&) = delete;
    Policy& operator=(Policy const&) = delete;
    virtual ~Policy() = default;

    /// To be asked once per window.
    virtual Decision decide(Report const& report) = 0;
};

struct PolicySettings {
    std::optional<Time> window;  ///< nothing: the policy's own
    SeekProfile seek;            ///< for policies that ask for seek times
};

/// A row of the table of policies.
struct PolicyEntry {
    std::string_view name;
    std::string_view summary;
    std::string_view source;
    std::unique_ptr<Policy> (*make)(PolicySettings const& settings);
};

/// All of them, the default first.
std::span<PolicyEntry const> policies();
/// Null for any other name.
PolicyEntry const* find_policy(std::string_view name);

/// Made by one file each in policies/.
std::unique_ptr<Policy> make_default_policy(PolicySettings const& settings);
std::unique_ptr<Policy> make_paper_policy(PolicySettings const& settings);
std::unique_ptr<Policy> make_paper_linux_policy(PolicySettings const& settings);
std::unique_ptr<Policy> make_paper_kept_policy(PolicySettings const& settings);
std::unique_ptr<Policy> make_even_policy(PolicySettings const& settings);
std::unique_ptr<Policy> make_one_at_a_time_policy(PolicySettings const& settings);
std::unique_ptr<Policy> make_sets_policy(PolicySettings const& settings);

}  // namespace unisono::orchestra
