#include "support/byte_stream.hpp"
#include "unisono/layout.hpp"

namespace unisono {
namespace {

struct Content {
    std::string source;
    std::string reason;
    std::vector<Striping> stripings;
};

}  // namespace

template <MaybeConst<Striping> Any, class Visitor>
void visit_members(Any& striping, Visitor& visit) {
    visit(striping.end, striping.unit, striping.object_bytes, striping.width, striping.servers);
}

template <MaybeConst<Content> Any, class Visitor>
void visit_members(Any& content, Visitor& visit) {
    visit(content.source, content.reason, content.stripings);
}

std::vector<std::byte> to_bytes(Layout const& layout) {
    auto const stripings = layout.stripings();
    return bytes_of(Content{layout.source, layout.reason, {stripings.begin(), stripings.end()}});
}

std::optional<Layout> layout_from_bytes(std::span<std::byte const> bytes) {
    auto content = value_from_bytes<Content>(bytes);
    if (!content) return std::nullopt;
    if (content->stripings.empty())
        return Layout::unknown(std::move(content->source), std::move(content->reason));
    auto layout = Layout::of(std::move(content->source), std::move(content->stripings),
                             std::move(content->reason));
    if (layout.stripings().empty()) return std::nullopt;
    return layout;
}

}  // namespace unisono
