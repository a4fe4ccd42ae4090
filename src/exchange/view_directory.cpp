#include "exchange/view_directory.hpp"

#include <algorithm>
#include <cassert>
#include <set>

#include "support/byte_stream.hpp"

namespace unisono {
namespace {

// Programs that set an irregular view around every access must not fill the memory.
constexpr std::size_t views_at_most = 4096;

template <class Number>
std::span<std::uint64_t const> as_numbers(std::vector<Number> const& values) {
    static_assert(sizeof(Number) == sizeof(std::uint64_t));
    return {reinterpret_cast<std::uint64_t const*>(values.data()), values.size()};
}

// Where a shape starts counts within another shape only.
ViewKey key_of(Shape const& shape, std::int64_t start) {
    std::vector<std::uint64_t> numbers{static_cast<std::uint64_t>(shape.kind),
                                       static_cast<std::uint64_t>(start),
                                       shape.bytes,
                                       shape.count,
                                       static_cast<std::uint64_t>(shape.stride),
                                       shape.offsets.size()};
    auto const add = [&](Hash128 const& hash) {
        numbers.insert(numbers.end(), hash.begin(), hash.end());
    };
    add(hash128(as_numbers(shape.offsets)));
    add(hash128(as_numbers(shape.data_before)));
    if (shape.child != nullptr) add(key_of(*shape.child, shape.child->start));
    for (auto const& child : shape.children) add(key_of(*child, child->start));
    return hash128(numbers);
}

template <MaybeConst<Shape> Any, class Visitor>
void visit_members(Any& shape, Visitor& visit) {
    visit(shape.kind, shape.ascending, shape.depth, shape.start, shape.bytes, shape.pieces,
          shape.alignment, shape.low, shape.high, shape.count, shape.stride, shape.offsets,
          shape.data_before);
}

void write(ByteWriter& writer, Shape const& shape) {
    visit_members(shape, writer);
    writer(shape.child != nullptr);
    if (shape.child != nullptr) write(writer, *shape.child);
    writer(shape.children.size());
    for (auto const& child : shape.children) write(writer, *child);
}

ShapePtr read(ByteReader& reader) {
    auto shape = std::make_shared<Shape>();
    bool has_child = false;
    std::size_t children = 0;
    visit_members(*shape, reader);
    reader(has_child);
    if (has_child) shape->child = read(reader);
    reader(children);
    for (; children > 0; --children) shape->children.push_back(read(reader));
    return shape;
}

Message without_start(ShapePtr const& shape) {
    ByteWriter writer;
    write(writer, *make_shifted(shape, -shape->start));
    return {writer.bytes.begin(), writer.bytes.end()};
}

using Ranks = std::vector<std::uint32_t>;

/// New views on their way to the aggregators. Those of a node become one message: from its ranks to
/// its leader, from there to the head of each node with aggregators, which hands it on to the
/// others.
class Delivery {
public:
    /// `owners_of`: node -> its ranks with new views, ascending.
    Delivery(Team& team, std::span<std::uint32_t const> aggregators,
             std::map<std::uint32_t, Ranks> const& owners_of)
        : team_{team}, aggregators_{aggregators.begin(), aggregators.end()}, owners_of_{owners_of} {
        for (auto const rank : aggregators_) head_of_.emplace(node_of(rank), rank);
    }

    [[nodiscard]] bool to_me() const { return aggregators_.contains(me_); }

    /// Sends this rank's view on its way and, on a leader, its node's.
    void hand_in(ShapePtr const& mine) {
        auto const found = owners_of_.find(node_of(me_));
        if (found == owners_of_.end()) return;
        auto const& owners = found->second;
        if (std::ranges::find(owners, me_) != owners.end()) package_ = without_start(mine);
        if (me_ != leader_of(node_of(me_))) {
            if (!package_.empty()) team_.send(leader_of(node_of(me_)), Team::Kind::view, package_);
            return;
        }
        for (auto const owner : owners) {
            if (owner == me_) continue;
            auto const view = team_.receive(owner, Team::Kind::view);
            package_.insert(package_.end(), view.begin(), view.end());
        }
        for (auto const& [node, head] : head_of_)
            if (head != me_) team_.send(head, Team::Kind::view, package_);
    }

    /// One node's views, handed on if need be. On aggregators, for all nodes in ascending order.
    Message views_of(std::uint32_t node) {
        auto const leader = leader_of(node);
        auto const head = head_of_.at(node_of(me_));
        auto bytes =
            leader == me_ ? package_ : team_.receive(head == me_ ? leader : head, Team::Kind::view);
        for (auto const rank : aggregators_)
            if (head == me_ && rank != me_ && rank != leader && node_of(rank) == node_of(me_))
                team_.send(rank, Team::Kind::view, bytes);
        return bytes;
    }

private:
    [[nodiscard]] std::uint32_t node_of(std::uint32_t rank) const {
        return team_.topology().node_of[rank];
    }
    [[nodiscard]] std::uint32_t leader_of(std::uint32_t node) const {
        return team_.topology().ranks_of[node].front();
    }

    Team& team_;
    std::uint32_t me_ = team_.rank();
    std::set<std::uint32_t> aggregators_;  // a rank may be several
    std::map<std::uint32_t, Ranks> const& owners_of_;
    std::map<std::uint32_t, std::uint32_t> head_of_;  // node -> its first aggregator
    Message package_;
};

}  // namespace

ViewKey key_of(Shape const& shape) { return key_of(shape, 0); }

ViewInterval ViewDirectory::interval_of(Tiling const& view, Positions positions) {
    if (positions.empty()) return {};
    if (latest_ != view.shape) {
        latest_ = view.shape;
        latest_key_ = key_of(*latest_);
    }
    return {latest_key_, view.origin + view.shape->start, view.extent, positions};
}

void ViewDirectory::learn(Team& team, std::span<std::uint32_t const> aggregators,
                          std::span<ViewInterval const> intervals, ShapePtr const& mine) {
    assert(intervals.size() == team.topology().ranks());
    if (known_.size() > views_at_most) known_.clear();
    auto const& node_of = team.topology().node_of;
    std::map<std::uint32_t, Ranks> owners_of;
    for (std::uint32_t rank = 0; rank < intervals.size(); ++rank)
        if (!intervals[rank].positions.empty() &&
            known_.emplace(intervals[rank].view, nullptr).second)
            owners_of[node_of[rank]].push_back(rank);
    if (owners_of.empty()) return;

    Delivery delivery{team, aggregators, owners_of};
    delivery.hand_in(mine);
    if (!delivery.to_me()) return;
    for (auto const& [node, owners] : owners_of) {
        auto const bytes = delivery.views_of(node);
        ByteReader reader{bytes};
        for (auto const owner : owners) known_[intervals[owner].view] = read(reader);
        assert(reader.complete());
    }
}

}  // namespace unisono
