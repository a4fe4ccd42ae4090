#pragma once

#include <map>
#include <memory>
#include <optional>

#include "select/measuring_selector.hpp"
#include "select/rule.hpp"

namespace unisono {

/// Selection by measurement for the calls on one communicator, on one rank. What a call took on the
/// slowest rank is known when the next one has agreed on its facts: it rides there.
class OnlineTuner {
public:
    OnlineTuner();

    /// Whether the options ask for it.
    static bool wanted(Options const& options);
    /// Or leave it to us: then what the rule only guesses is measured, off a node's own file
    /// system, without the MPI library's own way and without a memory.
    static bool possible(Options const& options);

    /// Before the first call.
    void begin(Memory memory);
    [[nodiscard]] bool begun() const { return begun_; }

    /// A number for a storage key (TuningContext::storage_key), and that the next calls go there.
    /// Equal on all ranks.
    std::uint64_t storage_key(std::string const& text);
    void go_to(std::uint64_t storage_key) { storage_key_ = storage_key; }

    /// Seconds that the last measured call took on this rank; 0: there is none to be told of.
    [[nodiscard]] double last_seconds() const {
        return last_calls_ == 0 ? 0 : last_calls_s_ / last_calls_;
    }
    /// What it took on the slowest rank.
    void learn(double seconds);

    /// Equal on all ranks, if what they learnt is. The options are the tuner's own where it varies
    /// them: they stay until the next choice.
    Selection choose(Facts const& facts, Options const& options);
    /// What `choose` has answered turned out not to be able to do the call.
    void refuse();

    /// The call that `choose` has answered for has ended: seconds since all ranks had met in it.
    void finish(double seconds);
    /// A number of what `choose` has answered last, and what this rank took for a call that went on
    /// like that one, without having asked: the mean of all counts, if nobody has asked meanwhile.
    /// `disturbed`: they say nothing, as after finish_disturbed.
    [[nodiscard]] std::uint64_t choice() const { return choices_; }
    void add(std::uint64_t choice, double seconds, bool disturbed);
    /// Whether add() would count them.
    [[nodiscard]] bool wants(std::uint64_t choice) const { return pending_ && choice == choices_; }
    /// As finish, but what it took says nothing: it waited for the program's turn. One rank is
    /// enough to have it forgotten on all.
    void finish_disturbed();

    /// The class of the call that `choose` has answered for last, when it was examined.
    [[nodiscard]] std::optional<Signature> examined_class() const;
    [[nodiscard]] Explanation explain(Signature const& signature_class) const;

    [[nodiscard]] bool has_unsaved() const { return measuring_.has_unsaved(); }
    /// For the memory: what was learnt since the last time, with storage keys.
    std::vector<TuningRecord> take_unsaved();

private:
    struct Pending {
        Selector* selector = nullptr;
        Signature signature;
        Candidate candidate;
    };

    std::unique_ptr<Selector> paper_;
    MeasuringSelector measuring_;
    MeasuringSelector unasked_{unasked_budget};
    MpiLibrary library_;
    std::map<std::uint64_t, std::string> storage_keys_;
    std::uint64_t storage_key_ = 0;
    std::optional<Pending> pending_;
    Options options_;          // with a candidate's setting
    double last_calls_s_ = 0;  // of the last measured call, and of those that went on like it
    std::uint32_t last_calls_ = 0;
    std::uint64_t choices_ = 0;
    bool begun_ = false;
};

}  // namespace unisono
