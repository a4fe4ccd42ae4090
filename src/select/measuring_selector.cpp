#include "select/measuring_selector.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace unisono {
namespace {

// Powers of two in the mean size of a piece, in a class.
int piece_class(Signature const& signature_class) {
    return static_cast<int>(signature_class.bytes) - static_cast<int>(signature_class.requests);
}

// Pieces within a factor of four, same storage, same ranks.
bool similar(Signature const& a, Signature const& b) {
    return a.storage_key == b.storage_key && a.direction == b.direction && a.ranks == b.ranks &&
           a.nodes == b.nodes && std::abs(piece_class(a) - piece_class(b)) <= 2;
}

}  // namespace

void MeasuringSelector::remember(Memory memory) { memory_ = std::move(memory); }

Examination& MeasuringSelector::examination(Signature const& signature_class) {
    auto const [entry, is_new] = table_.try_emplace(signature_class, budget_);
    auto& examination = entry->second;
    if (!is_new) return examination;
    auto const record = std::ranges::find(memory_.records, signature_class, &TuningRecord::calls);
    if (record != memory_.records.end())
        examination.remember(record->scores, memory_.frozen || record->frozen);
    else if (memory_.frozen)
        examination.remember({}, true);
    return examination;
}

std::optional<double> MeasuringSelector::slower_elsewhere(Signature const& signature_class,
                                                          Candidate const& candidate) const {
    auto sum = 0.0;
    auto count = 0;
    for (auto const& [other, examination] : table_) {
        if (other == signature_class || !similar(other, signature_class)) continue;
        auto const slower = examination.slower_than_best(candidate);
        if (!slower) continue;
        sum += *slower;
        ++count;
    }
    return count == 0 ? std::nullopt : std::optional{sum / count};
}

Selector::Choice MeasuringSelector::choose(Signature const& signature,
                                           std::span<Candidate const> candidates) {
    assert(!candidates.empty());
    auto const signature_class = class_of(signature);
    std::vector<Candidate> now{candidates.begin(), candidates.end()};
    if (has_windows_)
        for (auto& candidate : now) candidate.setup_s = std::min(candidate.setup_s, any_setup_s);
    auto const choice = examination(signature_class).choose(now, [&](auto const& candidate) {
        return slower_elsewhere(signature_class, candidate);
    });
    has_windows_ = has_windows_ || choice.candidate.setup_s >= windows_setup_s;
    return choice;
}

void MeasuringSelector::learn(Signature const& signature, Candidate const& candidate,
                              double seconds) {
    if (seconds <= 0 || signature.bytes == 0) return;
    examination(class_of(signature))
        .learn(candidate, static_cast<double>(signature.bytes), seconds);
}

void MeasuringSelector::refuse(Signature const& signature, Candidate const& candidate) {
    examination(class_of(signature)).refuse(candidate);
}

Explanation MeasuringSelector::explain(Signature const& signature_class) const {
    auto const known = table_.find(signature_class);
    auto explanation = known == table_.end() ? Explanation{} : known->second.explain();
    explanation.calls = signature_class;
    return explanation;
}

bool MeasuringSelector::has_unsaved() const {
    return std::ranges::any_of(table_,
                               [](auto const& entry) { return entry.second.has_unsaved(); });
}

std::vector<TuningRecord> MeasuringSelector::take_unsaved() {
    std::vector<TuningRecord> unsaved;
    for (auto& [signature_class, examination] : table_) {
        auto scores = examination.take_unsaved();
        if (scores.empty()) continue;
        unsaved.push_back({.calls = signature_class,
                           .scores = std::move(scores),
                           .replaces = examination.take_memory_wrong()});
    }
    return unsaved;
}

}  // namespace unisono
