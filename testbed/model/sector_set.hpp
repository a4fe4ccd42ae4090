#pragma once

#include <cstdint>
#include <map>

namespace unisono::testbed {

/// A set of sectors as disjoint runs [begin, end), neighbours merged.
class SectorSet {
public:
    using Runs = std::map<std::uint64_t, std::uint64_t>;

    /// Cost of add() and remove(): O(log runs) and the runs that vanish.
    void add(std::uint64_t begin, std::uint64_t end);
    void remove(std::uint64_t begin, std::uint64_t end);

    [[nodiscard]] bool contains(std::uint64_t begin, std::uint64_t end) const;
    [[nodiscard]] bool empty() const { return runs_.empty(); }
    [[nodiscard]] std::uint64_t sectors() const { return sectors_; }
    [[nodiscard]] Runs const& runs() const { return runs_; }

private:
    Runs runs_;
    std::uint64_t sectors_ = 0;
};

}  // namespace unisono::testbed
