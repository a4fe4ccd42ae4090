#include "select/call_selection.hpp"

namespace unisono {

CallSelection::CallSelection(OnlineTuner& tuner, Options const& options, double last_seconds,
                             std::uint64_t storage_key)
    : tuner_{tuner}, options_{options}, measures_{OnlineTuner::possible(options)} {
    tuner_.learn(last_seconds);
    if (measures_) tuner_.go_to(storage_key);
}

Selection CallSelection::begin(Facts const& facts) {
    if (!measures_) return choose(facts, options_);
    auto selection = tuner_.choose(facts, options_);
    examined_ = tuner_.examined_class();
    return selection;
}

Selection CallSelection::begin_instead(Facts const& facts, std::string_view refusal) {
    tuner_.refuse();
    examined_.reset();
    return choose_instead(facts, options_, refusal);
}

void CallSelection::end(double seconds, bool disturbed) {
    if (disturbed)
        tuner_.finish_disturbed();
    else
        tuner_.finish(seconds);
}

}  // namespace unisono
