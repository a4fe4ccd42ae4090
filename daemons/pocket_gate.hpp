#pragma once

#include <string>

#include "gate.hpp"

namespace unisono {

/// The gate in the servers of a pocket file system, reached through attributes of its mountpoint.
/// So nothing listens anywhere, and it is the kernel that says who asks.
class PocketGate final : public Gate {
public:
    explicit PocketGate(std::string mountpoint) : mountpoint_(std::move(mountpoint)) {}

    /// Nothing: the file system is gone, or nothing is emulated there.
    std::optional<orchestra::Report> report() override;
    int send(orchestra::Schedule const& schedule) override;
    void wait(orchestra::Time time) override;
    void describe(orchestra::Status& status) const override;

private:
    std::string mountpoint_;
};

}  // namespace unisono
