#include "select/online_tuner.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "support/hash.hpp"

namespace unisono {
namespace {

constexpr auto says_nothing = std::numeric_limits<double>::infinity();

}  // namespace

OnlineTuner::OnlineTuner() : paper_{make_paper_selector()} {}

bool OnlineTuner::wanted(Options const& options) {
    return possible(options) && options.select != "auto";
}

bool OnlineTuner::possible(Options const& options) {
    return options.strategy == "auto" && options.select != "rule";
}

void OnlineTuner::begin(Memory memory) {
    begun_ = true;
    library_ = memory.library;
    for (auto& record : memory.records)
        record.calls.storage_key = storage_key(record.where.storage_key);
    measuring_.remember(std::move(memory));
}

std::uint64_t OnlineTuner::storage_key(std::string const& text) {
    auto const hash = hash64(text);
    storage_keys_.emplace(hash, text);
    return hash;
}

void OnlineTuner::learn(double seconds) {
    last_calls_ = 0;
    auto const last = std::exchange(pending_, {});
    if (last && std::isfinite(seconds))
        last->selector->learn(last->signature, last->candidate, seconds);
}

Selection OnlineTuner::choose(Facts const& facts, Options const& options) {
    auto by_rule = unisono::choose(facts, options);
    if (facts.bytes == 0) return by_rule;
    auto const unasked = options.select == "auto";
    if (unasked && (facts.local_storage || !by_rule.guessed)) return by_rule;
    auto const paper = options.select == "orthrus";
    auto candidates = paper ? paper_candidates(facts)
                            : all_candidates(facts, options, by_rule.strategy,
                                             native_fault(library_, facts, options));
    if (unasked) std::erase_if(candidates, std::not_fn(may_be_tried_unasked));
    auto signature = signature_of(facts);
    signature.storage_key = storage_key_;
    Selector* const selector = paper     ? paper_.get()
                               : unasked ? static_cast<Selector*>(&unasked_)
                                         : &measuring_;
    auto const choice = selector->choose(signature, candidates);
    pending_ = {selector, signature, choice.candidate};
    ++choices_;
    auto const varied = choice.candidate.variation != Candidate::Variation::none;
    if (varied) options_ = with_setting(options, choice.candidate.variation);
    return {.strategy = choice.candidate.strategy,
            .options = varied ? &options_ : &options,
            .why = unasked && choice.candidate == candidates[0] ? by_rule.why : choice.why,
            .lasting = choice.lasting};
}

void OnlineTuner::refuse() {
    if (auto const last = std::exchange(pending_, {}))
        last->selector->refuse(last->signature, last->candidate);
}

void OnlineTuner::finish(double seconds) {
    if (!pending_) return;
    last_calls_s_ = seconds;
    last_calls_ = 1;
}

void OnlineTuner::finish_disturbed() { finish(says_nothing); }

void OnlineTuner::add(std::uint64_t choice, double seconds, bool disturbed) {
    if (!wants(choice)) return;
    if (disturbed)
        last_calls_s_ = says_nothing;  // and stays it
    else
        last_calls_s_ += seconds;
    ++last_calls_;
}

std::optional<Signature> OnlineTuner::examined_class() const {
    if (!pending_ || pending_->selector == paper_.get()) return {};
    return class_of(pending_->signature);
}

Explanation OnlineTuner::explain(Signature const& signature_class) const {
    auto explanation = measuring_.explain(signature_class);
    return explanation.calls_done > 0 ? explanation : unasked_.explain(signature_class);
}

std::vector<TuningRecord> OnlineTuner::take_unsaved() {
    auto unsaved = measuring_.take_unsaved();
    for (auto& record : unsaved) record.where.storage_key = storage_keys_[record.calls.storage_key];
    return unsaved;
}

}  // namespace unisono
