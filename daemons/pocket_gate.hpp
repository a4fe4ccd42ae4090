#pragma once

#include <optional>
#include <string>

#include "coordinate/report.hpp"
#include "coordinate/schedule.hpp"

namespace unisono {

/// The gate in the servers of a pocket file system, reached through attributes of its mountpoint.
/// So nothing listens anywhere, and it is the kernel that says who asks.
class PocketGate {
public:
    explicit PocketGate(std::string mountpoint) : mountpoint_(std::move(mountpoint)) {}

    /// Nothing and errno: the file system is gone, or nothing is emulated there.
    [[nodiscard]] std::optional<coordinate::Report> report() const;
    /// 0 or errno; ESTALE: another orchestrator was there later.
    [[nodiscard]] int send(coordinate::Schedule const& schedule) const;

private:
    std::string mountpoint_;
};

}  // namespace unisono
