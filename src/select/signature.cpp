#include "select/signature.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "support/text.hpp"

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
            .request_hash = facts.request_hash};
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
    result.request_hash = 0;
    return result;
}

namespace {

// The least that is in a class.
std::uint64_t least(std::uint64_t width) {
    return width == 0 ? 0 : std::uint64_t{1} << std::min<std::uint64_t>(width - 1, 63);
}

std::string least_bytes(std::uint64_t width) {
    static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto bytes = least(width);
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
    return std::to_string(bytes) + ' ' + units.at(unit);
}

}  // namespace

std::string describe_class(Signature const& signature_class) {
    auto const gap = signature_class.relative_offset;
    std::string text = signature_class.direction == Direction::read ? "reads" : "writes";
    text += " of " + least_bytes(signature_class.bytes) + " or more, in " +
            counted(least(signature_class.requests), "piece") + " or more, ";
    if (gap != 0)
        text += (gap > 0 ? "gaps of " : "overlaps of ") +
                least_bytes(static_cast<std::uint64_t>(std::abs(gap))) + " or more, ";
    return text + counted(signature_class.ranks, "rank") + " on " +
           counted(signature_class.nodes, "node");
}

}  // namespace unisono
