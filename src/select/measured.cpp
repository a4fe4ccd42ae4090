#include "select/measured.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace unisono {

Measured::Measured() : paper_{make_paper_selector()} {}

bool Measured::wanted(Options const& options) {
    return options.strategy == "auto" && options.select != "rule";
}

void Measured::begin(Memory memory) {
    begun_ = true;
    library_ = memory.library;
    for (auto& lesson : memory.lessons) lesson.calls.place = place(lesson.where.place);
    measuring_.remember(std::move(memory));
}

std::uint64_t Measured::place(std::string const& text) {
    auto const hash = std::hash<std::string>{}(text);
    places_.emplace(hash, text);
    return hash;
}

void Measured::learn(double seconds) {
    last_seconds_ = 0;
    auto const last = std::exchange(pending_, {});
    if (last && std::isfinite(seconds))
        last->selector->learn(last->signature, last->candidate, seconds);
}

Selection Measured::choose(Facts& facts) {
    auto const by_rule = unisono::choose(facts);
    if (facts.bytes == 0) return by_rule;
    auto const paper = facts.options->select == "orthrus";
    auto const candidates =
        paper ? paper_candidates(facts)
              : all_candidates(facts, by_rule.strategy, native_fault(library_, facts));
    auto signature = signature_of(facts);
    signature.place = place_;
    Selector* const selector = paper ? paper_.get() : &measuring_;
    auto const choice = selector->choose(signature, candidates);
    pending_ = {selector, signature, choice.candidate};
    if (choice.candidate.variation != Candidate::Variation::none) {
        options_ = with_setting(*facts.options, choice.candidate.variation);
        facts.options = &options_;
    }
    return {choice.candidate.strategy, choice.why};
}

void Measured::refuse() {
    if (auto const last = std::exchange(pending_, {}))
        last->selector->refuse(last->signature, last->candidate);
}

void Measured::finish(double seconds) {
    if (pending_) last_seconds_ = seconds;
}

void Measured::finish_disturbed() { finish(std::numeric_limits<double>::infinity()); }

std::optional<Signature> Measured::examined_class() const {
    if (!pending_ || pending_->selector != &measuring_) return {};
    return class_of(pending_->signature);
}

std::vector<Lesson> Measured::take_news() {
    auto news = measuring_.take_news();
    for (auto& lesson : news) lesson.where.place = places_[lesson.calls.place];
    return news;
}

}  // namespace unisono
