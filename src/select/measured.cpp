#include "select/measured.hpp"

#include <utility>

#include "strategies/all.hpp"

namespace unisono {
namespace {

using Candidates = std::vector<Strategy const*>;

// Section 2.2 of the paper.
Candidates paper_candidates(Facts const& facts) {
    Candidates candidates{&native};
    for (auto const* strategy : {&core_first, &disk_first})
        if (strategy->unfit(facts).empty()) candidates.push_back(strategy);
    return candidates;
}

// The rule's choice first. Never the MPI library's own: MPICH 4.0.2 counts wrong past the end of a
// file, fills holes with what its buffers hold, and hangs with two threads; OMPIO 4.1.4 reads wrong
// bytes where ranks overlap.
Candidates all_candidates(Facts const& facts) {
    Candidates candidates{choose(facts).strategy};
    for (auto const* strategy : all_strategies()) {
        auto const known = strategy == candidates.front() || strategy == &native;
        if (known || !strategy->unfit(facts).empty()) continue;
        if (strategy->promising == nullptr || strategy->promising(facts))
            candidates.push_back(strategy);
    }
    return candidates;
}

}  // namespace

Measured::Measured() : paper_{make_paper_selector()}, measuring_{make_measuring_selector()} {}

bool Measured::wanted(Options const& options) {
    return options.strategy == "auto" && options.select != "rule";
}

void Measured::learn(double seconds) {
    last_seconds_ = 0;
    if (auto const last = std::exchange(pending_, {}))
        last->selector->learn(last->signature, last->strategy, seconds);
}

Selection Measured::choose(Facts const& facts) {
    if (facts.bytes == 0) return unisono::choose(facts);
    auto const paper = facts.options->select == "orthrus";
    auto* const selector = paper ? paper_.get() : measuring_.get();
    auto const candidates = paper ? paper_candidates(facts) : all_candidates(facts);
    auto const signature = signature_of(facts);
    auto const choice = selector->choose(signature, candidates);
    pending_ = {selector, signature, choice.strategy};
    return {choice.strategy, choice.why};
}

void Measured::refuse() {
    if (auto const last = std::exchange(pending_, {}))
        last->selector->refuse(last->signature, last->strategy);
}

void Measured::finish(double seconds) {
    if (pending_) last_seconds_ = seconds;
}

}  // namespace unisono
