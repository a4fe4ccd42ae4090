#include "access/copy_past_caches.hpp"

#include "support/cache_lines.hpp"

namespace unisono {
namespace {

void store(std::byte const* packed, Placed const& to) {
    walk(to.tiling, to.positions, [&](std::int64_t offset, std::uint64_t bytes) {
        store_past_caches(to.at(offset), packed, bytes);
        packed += bytes;
    });
}

}  // namespace

void copy_past_caches(Placed const& from, Placed const& to) {
    constexpr std::uint64_t some_bytes = 8 << 10;
    alignas(64) std::array<std::byte, some_bytes> packed;
    assert(from.positions.bytes() == to.positions.bytes());
    if (from.positions.empty()) return;
    if (from.tiling.dense())
        return store(from.at(offset_of(from.tiling, from.positions.begin)), to);
    for (std::uint64_t at = 0; at < from.positions.bytes(); at += some_bytes) {
        auto const bytes = std::min(some_bytes, from.positions.bytes() - at);
        auto const some = [&](Placed const& all) {
            auto const begin = all.positions.begin + at;
            return Placed{all.tiling, {begin, begin + bytes}, all.base};
        };
        copy_data(some(from), Packed{bytes}.at(packed.data()));
        store(packed.data(), some(to));
    }
}

}  // namespace unisono
