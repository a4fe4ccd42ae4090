#include "unisono/realm.hpp"

namespace unisono {

Realm contiguous_realm(Extent range) { return striped_realm(0, 1, 1, range); }

Realm striped_realm(std::uint64_t first, std::uint64_t unit, std::uint64_t period, Extent range) {
    Realm const endless{
        {make_dense(unit), static_cast<std::int64_t>(first), static_cast<std::int64_t>(period)},
        {0, ~std::uint64_t{0}}};
    return within(endless, range);
}

Realm within(Realm const& realm, Extent range) {
    if (range.empty() || realm.empty()) return {realm.tiling, {}};
    return {realm.tiling, within(realm.tiling, realm.positions, range)};
}

Extent touched(Realm const& realm) { return touched(realm.tiling, realm.positions); }

}  // namespace unisono
