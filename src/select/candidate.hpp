#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/plan.hpp"

namespace unisono {

/// What the first call of a strategy that has windows takes longer, and of any other, and of the
/// first once there are windows: they are made once for each communicator.
constexpr double windows_setup_s = 2e-3;
constexpr double windows_between_nodes_setup_s = 3e-2;
constexpr double any_setup_s = 5e-4;

/// One way of doing a call that can be measured: a strategy, and a setting that it is tried with
/// where the user has not given one.
struct Candidate {
    enum class Variation : std::uint8_t {
        none,
        every_rank,              ///< all ranks aggregate
        large_buffers,           ///< fewer, larger requests
        intra_node_aggregation,  ///< nodes send, not ranks
    };

    static constexpr std::array all_variations{Variation::none, Variation::every_rank,
                                               Variation::large_buffers,
                                               Variation::intra_node_aggregation};

    Strategy const* strategy = nullptr;
    Variation variation = Variation::none;
    /// What a call might take at worst, as far as one can guess: seconds; 0: nothing bounds it.
    double worst_case_s = 0;
    /// What its first call takes longer, because it sets things up: seconds.
    double setup_s = 0;

    friend bool operator==(Candidate const& a, Candidate const& b) {
        return a.strategy == b.strategy && a.variation == b.variation;
    }
};

/// Who does a call, and why.
struct CandidateChoice {
    Candidate candidate;
    std::string_view why;
    bool lasting = true;  ///< Selection::lasting
};

/// It may be tried where nobody has asked for trials: not the MPI library's own way, and not
/// `resonant`, whose agents take turns. Where that is wrong, one call took as long as thirteen.
bool may_be_tried_unasked(Candidate const& candidate);

/// "two_phase", "two_phase+every_rank".
std::string name_of(Candidate const& candidate);

/// The candidate with bounds of its cost in such a call. Needs the facts that say how much
/// is asked for, by how many and where, no others. Pure, O(1).
Candidate with_cost_bounds(Candidate candidate, Facts const& facts);

/// The options with the candidate's setting in them.
Options with_setting(Options const& options, Candidate::Variation variation);

/// The candidates of Orthrus, section 2.2: the MPI library's own, core_first, disk_first, as far as
/// they can do the call. Pure, O(1).
std::vector<Candidate> paper_candidates(Facts const& facts);

/// Those worth measuring, `first` before all others: every strategy that can do the call and is
/// worth measuring, and variations of two_phase where there is something to vary; no plug-ins. The
/// MPI library's own where `native_fault` is empty: see select/mpi_library.hpp. Pure,
/// O(strategies).
std::vector<Candidate> all_candidates(Facts const& facts, Options const& options,
                                      Strategy const* first, std::string_view native_fault);

}  // namespace unisono
