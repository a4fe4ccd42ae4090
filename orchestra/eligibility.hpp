#pragma once

#include <span>
#include <string>

namespace unisono::orchestra {

/// What the paper's conditions ask about one program, by data server; spans of equal length.
struct LocalityFacts {
    std::span<double const> all_gaps;  ///< SL_i
    std::span<double const> own_gaps;  ///< SL_ij
    std::span<double const> reuse_ms;  ///< RD_ij; empty: never in dedicated service yet
    std::span<double const> seek_ms;   ///< SeekTime_i
};

/// The paper's three conditions for dedicated service, and what they were decided from.
struct EligibilityConditions {
    double all_dispersion = 0;  ///< standard deviation of SL_i over its mean
    double own_dispersion = 0;  ///< of SL_ij
    double ratio = 0;           ///< sum of SL_i over sum of SL_ij
    double reuse_ms = 0;        ///< mean of RD_ij
    double seek_ms = 0;         ///< mean of SeekTime_i
    bool consistent = false;    ///< condition 1
    bool local = false;         ///< condition 2
    bool worth = false;         ///< condition 3; true as long as there is no reuse distance

    [[nodiscard]] bool eligible() const { return consistent && local && worth; }
};

/// iorchestrator-sc10, section III.C: (1) the standard deviations of SL_i and SL_ij over the
/// servers are below 20 % of their means; (2) sum SL_i / sum SL_ij >= 1.5; (3) mean RD_ij <=
/// SeekTime. Where the text is silent: the standard deviation is that of all servers, not of a
/// sample; equal values, also zeros, have no dispersion; without any gap of its own the ratio is
/// infinite if there are others' gaps and 1 if there are none; SeekTime is the servers' mean.
EligibilityConditions check_conditions(LocalityFacts const& facts);

/// For people: which condition fails and by how much, or "eligible".
std::string describe(EligibilityConditions const& eligibility);

}  // namespace unisono::orchestra
