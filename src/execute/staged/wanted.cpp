#include "execute/staged/wanted.hpp"

#include <algorithm>
#include <bit>

namespace unisono {
namespace {

constexpr std::uint64_t least_cell_bytes = 4096;
constexpr std::uint64_t cells_most = 16384;

/// Cells of equal size over extents that begin and end at their multiples.
class Cells {
public:
    Cells(std::vector<Extent> extents, std::uint64_t cell_bytes)
        : extents_{std::move(extents)}, cell_bytes_{cell_bytes} {
        for (auto const& extent : extents_) {
            first_.push_back(count_);
            count_ += extent.bytes() / cell_bytes_;
        }
        bits_.resize(div_ceil(count_, 64));
    }

    /// Marks those with a byte of the request, whose view ascends if it asks for any.
    void mark(Request const& request) {
        if (request.positions.empty()) return;
        for (std::size_t i = 0; i < extents_.size(); ++i)
            for (auto at = extents_[i].begin; at < extents_[i].end;) {
                auto const rest = within(request.view, request.positions, {at, extents_[i].end});
                if (rest.empty()) break;
                auto const offset = static_cast<std::uint64_t>(offset_of(request.view, rest.begin));
                auto const cell = (offset - extents_[i].begin) / cell_bytes_;
                auto const bit = first_[i] + cell;
                bits_[bit / 64] |= std::uint64_t{1} << bit % 64;
                at = extents_[i].begin + (cell + 1) * cell_bytes_;
            }
    }
    [[nodiscard]] std::span<std::uint64_t> bits() { return bits_; }

    /// The marked ones, neighbours in one.
    [[nodiscard]] std::vector<Extent> marked() const {
        std::vector<Extent> found;
        for (std::size_t i = 0; i < extents_.size(); ++i)
            for (auto at = extents_[i].begin; at < extents_[i].end; at += cell_bytes_) {
                auto const bit = first_[i] + (at - extents_[i].begin) / cell_bytes_;
                if ((bits_[bit / 64] >> bit % 64 & 1) == 0) continue;
                if (!found.empty() && found.back().end == at)
                    found.back().end += cell_bytes_;
                else
                    found.push_back({at, at + cell_bytes_});
            }
        return found;
    }

private:
    std::vector<Extent> extents_;
    std::uint64_t cell_bytes_;
    std::vector<std::uint64_t> first_;  // by extent: its first cell
    std::uint64_t count_ = 0;
    std::vector<std::uint64_t> bits_;
};

std::uint64_t bytes_of(std::span<Extent const> extents) {
    std::uint64_t bytes = 0;
    for (auto const& extent : extents) bytes += extent.bytes();
    return bytes;
}

std::uint64_t cell_bytes_for(std::uint64_t bytes) {
    return std::max(least_cell_bytes, std::bit_ceil(div_ceil(bytes, cells_most)));
}

}  // namespace

bool worth_looking_for_holes(Facts const& facts) {
    auto const hole_bytes = facts.touched.bytes() - std::min(facts.bytes, facts.touched.bytes());
    return facts.pieces > 0 && hole_bytes / facts.pieces >= 2 * least_cell_bytes &&
           hole_bytes >= facts.touched.bytes() / 2;
}

std::vector<Extent> find_wanted(Team& team, Team::Among among, Facts const& facts,
                                Request const& request) {
    auto cell_bytes = cell_bytes_for(facts.touched.bytes());
    std::vector<Extent> wanted{
        {facts.touched.begin / cell_bytes * cell_bytes, round_up(facts.touched.end, cell_bytes)}};
    while (true) {
        Cells cells{std::move(wanted), cell_bytes};
        cells.mark(request);
        team.unite(cells.bits(), among);
        wanted = cells.marked();
        auto const finer = cell_bytes_for(bytes_of(wanted));
        if (finer >= cell_bytes) break;
        cell_bytes = finer;
    }
    for (auto& extent : wanted) extent = intersect(extent, facts.touched);
    return wanted;
}

}  // namespace unisono
