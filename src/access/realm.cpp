#include "unisono/realm.hpp"

#include <cassert>

#include "access/copy.hpp"

namespace unisono {

Realm contiguous_realm(Extent range) {
    static ShapePtr const byte = make_dense(1);  // for all: a plan may have very many of them
    return within({{byte, 0, 1}, {0, ~std::uint64_t{0}}}, range);
}

Realm striped_realm(std::uint64_t first, std::uint64_t unit, std::uint64_t period, Extent range) {
    assert(0 < unit && unit <= period);
    Realm const endless{
        {make_dense(unit), static_cast<std::int64_t>(first), static_cast<std::int64_t>(period)},
        {0, ~std::uint64_t{0}}};
    return within(endless, range);
}

Realm within(Realm const& realm, Extent range) {
    if (range.empty() || realm.empty()) return {realm.tiling, {}};
    return {realm.tiling, within(realm.tiling, realm.positions, range)};
}

std::uint64_t common_bytes(Tiling const& view, Positions positions, Realm const& realm) {
    if (positions.empty() || realm.empty()) return 0;
    assert(view.ascending() && realm.tiling.ascending());
    Realm first{view, within(view, positions, touched(realm))};
    Realm second = within(realm, touched(view, positions));
    if (piece_estimate(first.tiling, first.positions) <
        piece_estimate(second.tiling, second.positions))
        std::swap(first, second);
    std::uint64_t sum = 0;
    walk(second.tiling, second.positions, [&](std::int64_t offset, std::uint64_t bytes) {
        auto const begin = static_cast<std::uint64_t>(offset);
        sum += within(first, {begin, begin + bytes}).bytes();
    });
    return sum;
}

Extent touched(Realm const& realm) { return touched(realm.tiling, realm.positions); }

}  // namespace unisono
