#include "options/options.hpp"
#include "support/byte_stream.hpp"

namespace unisono {

template <MaybeConst<Options> Any, class Visitor>
void visit_members(Any& options, Visitor& visit) {
#define UNISONO_VISIT(type, member, ...) visit(options.member);
    UNISONO_OPTIONS(UNISONO_VISIT)
#undef UNISONO_VISIT
}

std::vector<std::byte> to_bytes(Options const& options) { return bytes_of(options); }

std::optional<Options> options_from_bytes(std::span<std::byte const> bytes) {
    return value_from_bytes<Options>(bytes);
}

}  // namespace unisono
