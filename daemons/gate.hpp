#pragma once

#include <optional>

#include "coordinate/report.hpp"
#include "coordinate/schedule.hpp"
#include "coordinate/status.hpp"

namespace unisono {

/// The gate that an orchestrator is for, wherever it stands.
class Gate {
public:
    Gate() = default;
    Gate(Gate const&) = delete;
    Gate& operator=(Gate const&) = delete;
    virtual ~Gate() = default;

    /// Nothing and errno if it cannot be had.
    virtual std::optional<coordinate::Report> report() = 0;
    /// 0 or errno; ESTALE: another orchestrator was there later.
    virtual int send(coordinate::Schedule const& schedule) = 0;
    /// Does what the gate needs meanwhile. Returns early when this process is asked to end.
    virtual void wait(coordinate::Time time) = 0;
    /// Adds what there is to say of it.
    virtual void describe(coordinate::Status& status) const = 0;
};

}  // namespace unisono
