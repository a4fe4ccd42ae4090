#pragma once

#include <map>
#include <memory>
#include <optional>

#include "select/measuring_selector.hpp"
#include "select/rule.hpp"

namespace unisono {

/// Selection by measurement for the calls on one communicator, on one rank. What a call took on the
/// slowest rank is known when the next one has agreed on its facts: it rides there.
class Measured {
public:
    Measured();

    /// Whether the options ask for it.
    static bool wanted(Options const& options);

    /// Before the first call.
    void begin(Memory memory);
    [[nodiscard]] bool begun() const { return begun_; }

    /// A number for a place (Circumstances::place), and that the next calls are there. Equal on all
    /// ranks.
    std::uint64_t place(std::string const& text);
    void go_to(std::uint64_t place) { place_ = place; }

    /// Seconds that the last measured call took on this rank; 0: there is none to be told of.
    [[nodiscard]] double last_seconds() const { return last_seconds_; }
    /// What it took on the slowest rank.
    void learn(double seconds);

    /// Equal on all ranks, if what they learnt is. May point facts.options to options of its own,
    /// which stay until the next choice.
    Selection choose(Facts& facts);
    /// What `choose` has answered turned out not to be able to do the call.
    void refuse();

    /// The call that `choose` has answered for has ended: seconds since all ranks had met in it.
    void finish(double seconds);
    /// The same, but what it took says nothing: it waited for the program's turn. One rank is
    /// enough to have it forgotten on all.
    void finish_disturbed();

    /// The class of the call that `choose` has answered for last, when it was examined.
    [[nodiscard]] std::optional<Signature> examined_class() const;
    [[nodiscard]] Explanation explain(Signature const& signature_class) const {
        return measuring_.explain(signature_class);
    }

    [[nodiscard]] bool has_news() const { return measuring_.has_news(); }
    /// For the memory: what was learnt since the last time, with places.
    std::vector<Lesson> take_news();

private:
    struct Pending {
        Selector* selector = nullptr;
        Signature signature;
        Candidate candidate;
    };

    std::unique_ptr<Selector> paper_;
    MeasuringSelector measuring_;
    MpiLibrary library_;
    std::map<std::uint64_t, std::string> places_;
    std::uint64_t place_ = 0;
    std::optional<Pending> pending_;
    Options options_;  // with a candidate's setting
    double last_seconds_ = 0;
    bool begun_ = false;
};

}  // namespace unisono
