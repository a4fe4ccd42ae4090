#pragma once

#include <memory>
#include <span>

#include "select/candidate.hpp"
#include "select/signature.hpp"

namespace unisono {

/// Chooses strategies by measuring them on the program's own calls. Its answers are a function of
/// what it was told, and all ranks tell it the same: they never need to ask each other.
class Selector {
public:
    using Choice = CandidateChoice;

    virtual ~Selector() = default;

    /// Who does the next call. `candidates`: those that can, the rule's choice first; not empty.
    virtual Choice choose(Signature const& signature, std::span<Candidate const> candidates) = 0;
    /// How long the call took that `choose` has answered last for this signature: on the slowest
    /// rank, seconds.
    virtual void learn(Signature const& signature, Candidate const& candidate, double seconds) = 0;
    /// A candidate turned out not to be able to do such calls.
    virtual void refuse(Signature const& signature, Candidate const& candidate) = 0;
};

/// Orthrus as the paper has it (ISC 2014, section 2.1). A call whose signature is not the previous
/// one's starts an examination: three calls for each candidate, in rotation, and the best mean
/// throughput wins until the signature changes or the winner's throughput deviates from that mean
/// by more than 15 %.
std::unique_ptr<Selector> make_paper_selector();

}  // namespace unisono
