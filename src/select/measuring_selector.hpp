#pragma once

#include <map>

#include "select/examination.hpp"
#include "select/selector.hpp"

namespace unisono {

/// Beyond the paper: an examination for each class of signatures, so that alternating calls do not
/// restart each other; what similar calls taught decides who is tried first, and who had better not
/// be; and what earlier runs have learnt.
class MeasuringSelector final : public Selector {
public:
    /// `budget`: of each examination.
    explicit MeasuringSelector(Budget budget = {}) : budget_{budget} {}

    /// Only classes that have not been met yet begin with the records; Signature::storage_key must
    /// be set in them.
    void remember(Memory memory);

    Choice choose(Signature const& signature, std::span<Candidate const> candidates) override;
    void learn(Signature const& signature, Candidate const& candidate, double seconds) override;
    void refuse(Signature const& signature, Candidate const& candidate) override;

    /// Nothing is known of a class that has not been met.
    [[nodiscard]] Explanation explain(Signature const& signature_class) const;

    [[nodiscard]] bool has_unsaved() const;
    /// What has been learnt since the last time; storage keys and context are left to the caller.
    std::vector<TuningRecord> take_unsaved();

private:
    Examination& examination(Signature const& signature_class);
    [[nodiscard]] std::optional<double> slower_elsewhere(Signature const& signature_class,
                                                         Candidate const& candidate) const;

    Budget budget_;
    Memory memory_;
    std::map<Signature, Examination> table_;  // by class
    bool has_windows_ = false;                // somebody has run who makes them
};

}  // namespace unisono
