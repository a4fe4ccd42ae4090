#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "unisono/backend.hpp"

namespace unisono {

/// Where the accesses of this process to one open file wait for its program's turn. All that the
/// core knows of turns: who gives them is behind it (orchestra/gate/file_gate.hpp). Thread-safe.
class AdmissionGate {
public:
    /// An access that was let in; it ends when this goes.
    class Access {
    public:
        Access() = default;
        Access(Access const&) = delete;
        Access& operator=(Access const&) = delete;
        virtual ~Access() = default;
        /// Whether somebody waits for its end, as when it begins; else it may be over long before
        /// it ends here.
        virtual void waited_for(bool /*now*/) {}
    };
    /// Null: nobody wants to hear when the access ends.
    using Pass = std::unique_ptr<Access>;

    AdmissionGate() = default;
    AdmissionGate(AdmissionGate const&) = delete;
    AdmissionGate& operator=(AdmissionGate const&) = delete;
    virtual ~AdmissionGate() = default;

    /// Returns when the access may begin.
    virtual Pass enter(std::span<Transfer const> list) = 0;
    /// The same for one that somebody else makes, nobody knows where.
    virtual Pass enter_somewhere(std::uint64_t bytes) = 0;

    /// How many accesses had to wait so far.
    [[nodiscard]] virtual std::uint64_t waits() const = 0;
};

}  // namespace unisono
