#include "select/signature.hpp"

#include <bit>

namespace unisono {

Signature signature_of(Facts const& facts) {
    auto const gaps = static_cast<std::int64_t>(facts.touched.bytes() - facts.bytes);
    auto const between = static_cast<std::int64_t>(facts.pieces) - 1;
    return {.direction = facts.direction,
            .ranks = facts.topology->ranks(),
            .nodes = facts.topology->nodes(),
            .requests = facts.pieces,
            .bytes = facts.bytes,
            .relative_offset = between > 0 ? gaps / between : 0,
            .shapes = facts.shapes};
}

Signature class_of(Signature const& signature) {
    auto const width = [](std::uint64_t value) {
        return static_cast<std::uint64_t>(std::bit_width(value));
    };
    auto const gap = signature.relative_offset;
    auto const gap_class =
        static_cast<std::int64_t>(width(static_cast<std::uint64_t>(std::abs(gap))));
    auto result = signature;
    result.requests = width(signature.requests);
    result.bytes = width(signature.bytes);
    result.relative_offset = gap < 0 ? -gap_class : gap_class;
    result.shapes = 0;
    return result;
}

}  // namespace unisono
