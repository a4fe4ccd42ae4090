#include "report/shape_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace unisono {
namespace {

using Json = nlohmann::ordered_json;

// How many entries and loops describe it; `most` + 1 stands for all that is more.
std::size_t described_by(Shape const& shape, std::size_t most) {
    auto entries = std::max<std::size_t>(shape.offsets.size(), 1);
    auto const add = [&](ShapePtr const& child) {
        if (entries <= most) entries += described_by(*child, most - entries);
    };
    if (shape.child != nullptr) add(shape.child);
    for (auto const& child : shape.children) add(child);
    return entries;
}

std::vector<std::uint64_t> lengths_of(Shape const& shape) {
    std::vector<std::uint64_t> lengths(shape.offsets.size());
    for (std::size_t i = 0; i < lengths.size(); ++i)
        lengths[i] = shape.data_before[i + 1] - shape.data_before[i];
    return lengths;
}

Json json_of(Shape const& shape) {
    Json json = Json::object();
    if (shape.start != 0) json["at"] = shape.start;
    switch (shape.kind) {
        case Shape::Kind::dense:
            json["bytes"] = shape.bytes;
            break;
        case Shape::Kind::repeat:
            json.update({{"count", shape.count}, {"stride", shape.stride}});
            json["of"] = json_of(*shape.child);
            break;
        case Shape::Kind::blocks:
            json.update({{"offsets", shape.offsets}, {"bytes", lengths_of(shape)}});
            break;
        case Shape::Kind::list:
            json["offsets"] = shape.offsets;
            json["of"] = Json::array();
            for (auto const& child : shape.children) json["of"].push_back(json_of(*child));
            break;
    }
    return json;
}

ShapePtr shape_of(Json const& json);

ShapePtr list_of(Json const& json, std::vector<std::int64_t> const& offsets) {
    if (json.contains("bytes")) {
        auto const lengths = json.at("bytes").get<std::vector<std::uint64_t>>();
        return lengths.size() == offsets.size() ? make_blocks(offsets, lengths) : nullptr;
    }
    std::vector<ShapePtr> children;
    for (auto const& child : json.at("of")) children.push_back(shape_of(child));
    auto const whole =
        children.size() == offsets.size() && std::ranges::find(children, nullptr) == children.end();
    return whole ? make_list(offsets, children) : nullptr;
}

ShapePtr unshifted(Json const& json) {
    if (json.contains("offsets"))
        return list_of(json, json.at("offsets").get<std::vector<std::int64_t>>());
    if (!json.contains("count")) return make_dense(json.at("bytes").get<std::uint64_t>());
    auto const child = shape_of(json.at("of"));
    if (child == nullptr) return nullptr;
    return make_repeat(json.at("count").get<std::uint64_t>(), json.at("stride").get<std::int64_t>(),
                       child);
}

ShapePtr shape_of(Json const& json) {
    auto const shape = unshifted(json);
    return shape == nullptr ? nullptr : make_shifted(shape, json.value("at", std::int64_t{0}));
}

}  // namespace

std::string shape_text(Shape const& shape, std::size_t entries_at_most) {
    if (described_by(shape, entries_at_most) > entries_at_most) return {};
    return json_of(shape).dump();
}

ShapePtr shape_from_text(std::string_view text) {
    try {
        return shape_of(Json::parse(text));
    } catch (Json::exception const&) {  // no JSON, or something is missing or of another type
        return nullptr;
    }
}

}  // namespace unisono
