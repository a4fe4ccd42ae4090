#pragma once

#include <optional>

#include "orchestra/report.hpp"
#include "orchestra/schedule.hpp"
#include "orchestra/status.hpp"

namespace unisono {

/// The gate that an orchestrator is for, wherever it stands.
class Gate {
public:
    Gate() = default;
    Gate(Gate const&) = delete;
    Gate& operator=(Gate const&) = delete;
    virtual ~Gate() = default;

    /// Nothing and errno if it cannot be had.
    virtual std::optional<orchestra::Report> report() = 0;
    /// 0 or errno; ESTALE: another orchestrator was there later.
    virtual int send(orchestra::Schedule const& schedule) = 0;
    /// Does what the gate needs meanwhile. Returns early when this process is asked to end, or when
    /// there is something new to describe.
    virtual void wait(orchestra::Time time) = 0;
    /// Adds what there is to say of it.
    virtual void describe(orchestra::Status& status) const = 0;
};

}  // namespace unisono
