#pragma once

#include <optional>

#include "select/online_tuner.hpp"
#include "select/rule.hpp"

namespace unisono {

/// One collective call as selection sees it: which strategy does it, and what that took. Nothing
/// else about the call is told to a tuner, and nobody else tells it, but for OnlineTuner::add where
/// nothing is selected any more. Equal on all ranks.
class CallSelection {
public:
    /// When the ranks have agreed what the previous call took on the slowest of them. Both must
    /// outlive this. `storage_key`: of the file; not looked at where nothing is measured.
    CallSelection(OnlineTuner& tuner, Options const& options, double last_seconds,
                  std::uint64_t storage_key);

    /// Who does it, with which options, and why. Pure but for what the tuner has learnt.
    Selection begin(Facts const& facts);
    /// Who does it instead, because who was selected turned out not to be able to.
    Selection begin_instead(Facts const& facts, std::string_view refusal);
    /// It has ended well: seconds since all ranks had met in it. `disturbed`: it waited for the
    /// program's turn on this rank, or the MPI library failed there, and it says nothing; one rank
    /// is enough. Another call that failed, or was done in parts, does not end.
    void end(double seconds, bool disturbed);

    /// Its class, if it was examined.
    [[nodiscard]] std::optional<Signature> examined_class() const { return examined_; }

private:
    OnlineTuner& tuner_;
    Options const& options_;
    bool measures_;
    std::optional<Signature> examined_;
};

}  // namespace unisono
