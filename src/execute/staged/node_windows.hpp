#pragma once

#include <cassert>
#include <vector>

#include "exchange/coverage.hpp"
#include "exchange/team.hpp"

namespace unisono {

/// The collective buffers that a node's ranks share during one call: one window for each
/// aggregator of this node, with its coverage; or two, which take turns (`side` 0 and 1).
class NodeWindows {
public:
    /// Collective over the node.
    NodeWindows(Team& team, std::vector<std::uint32_t> const& aggregators,
                std::uint64_t window_bytes, std::size_t sides, std::uint64_t granule_bytes);

    /// All ranks of the node see the same windows. If not, each has its own.
    [[nodiscard]] bool shared() const { return shared_; }
    /// This rank has no windows at all: there is no memory for them, and the call cannot be done.
    [[nodiscard]] bool missing() const { return missing_; }

    /// Only of aggregators of this node, as the two below.
    [[nodiscard]] std::byte* data(std::size_t aggregator, int side) const;
    /// Reads: how many of the window's bytes are there. Written by one rank, read after a meeting.
    [[nodiscard]] std::uint64_t& valid_bytes(std::size_t aggregator, int side) const;
    [[nodiscard]] Coverage coverage(std::size_t aggregator, int side) const;

private:
    struct alignas(64) Head {
        std::uint64_t valid_bytes;
    };

    [[nodiscard]] std::size_t index(std::size_t aggregator, int side) const {
        assert(aggregator < place_.size() && place_[aggregator] != elsewhere);
        assert(side >= 0 && static_cast<std::size_t>(side) < sides_);
        return sides_ * place_[aggregator] + static_cast<std::size_t>(side);
    }
    [[nodiscard]] Head* head(std::size_t aggregator, int side) const;

    void take_private_memory(Team const& team, std::uint64_t windows_bytes,
                             std::uint64_t coverage_bytes);

    std::uint64_t window_bytes_;
    std::uint64_t stride_;  // from one window to the next
    std::size_t sides_;
    std::uint64_t granule_bytes_;
    bool shared_ = true;
    bool missing_ = false;
    static constexpr std::size_t elsewhere = ~std::size_t{0};
    std::vector<std::size_t> place_;  // aggregator -> place in the node's memory
    std::vector<std::byte> private_windows_;
    std::vector<std::byte> private_coverage_;
    std::byte* windows_ = nullptr;
    std::byte* heads_ = nullptr;
    std::byte* coverage_ = nullptr;
};

}  // namespace unisono
