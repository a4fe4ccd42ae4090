#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "select/signature.hpp"

namespace unisono {

/// Chooses strategies by measuring them on the program's own calls. Its answers are a function of
/// what it was told, and all ranks tell it the same: they never need to ask each other.
class Selector {
public:
    struct Choice {
        Strategy const* strategy = nullptr;
        std::string_view why;
    };

    virtual ~Selector() = default;

    /// Who does the next call. `candidates`: those that can, the most promising first; not empty.
    virtual Choice choose(Signature const& signature,
                          std::span<Strategy const* const> candidates) = 0;
    /// How long the call took that `choose` has answered last for this signature: on the slowest
    /// rank, seconds.
    virtual void learn(Signature const& signature, Strategy const* strategy, double seconds) = 0;
    /// A candidate turned out not to be able to do such calls.
    virtual void refuse(Signature const& signature, Strategy const* strategy) = 0;
};

/// Orthrus as the paper has it (ISC 2014, section 2.1). A call whose signature is not the previous
/// one's starts an examination: three calls for each candidate, in rotation, and the best mean
/// throughput wins until the signature changes or the winner's throughput deviates from that mean
/// by more than 15 %.
std::unique_ptr<Selector> make_paper_selector();

/// Beyond the paper: a table of signature classes, so that alternating calls do not restart each
/// other; the most promising candidate first; candidates are tried only while what trying has cost
/// stays below 5 % of all time, and losers drop out after one or two calls; a winner that gets
/// slower for good (a cumulative-sum test, not one slow call) reopens the examination.
std::unique_ptr<Selector> make_measuring_selector();

}  // namespace unisono
