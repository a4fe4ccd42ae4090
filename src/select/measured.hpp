#pragma once

#include "select/rule.hpp"
#include "select/selector.hpp"

namespace unisono {

/// Selection by measurement for the calls on one communicator, on one rank. What a call took on the
/// slowest rank is known when the next one has agreed on its facts: it rides there.
class Measured {
public:
    Measured();

    /// Whether the options ask for it.
    static bool wanted(Options const& options);

    /// Seconds that the last measured call took on this rank; 0: there is none to be told of.
    [[nodiscard]] double last_seconds() const { return last_seconds_; }
    /// What it took on the slowest rank.
    void learn(double seconds);

    /// Equal on all ranks, if what they learnt is.
    Selection choose(Facts const& facts);
    /// What `choose` has answered turned out not to be able to do the call.
    void refuse();

    /// The call that `choose` has answered for has ended.
    void finish(double seconds);

private:
    struct Pending {
        Selector* selector = nullptr;
        Signature signature;
        Strategy const* strategy = nullptr;
    };

    std::unique_ptr<Selector> paper_;
    std::unique_ptr<Selector> measuring_;
    std::optional<Pending> pending_;
    double last_seconds_ = 0;
};

}  // namespace unisono
