#include <algorithm>
#include <numeric>

#include "layouts/field_reader.hpp"
#include "layouts/magic.hpp"
#include "layouts/parsers.hpp"
#include "layouts/providers.hpp"

namespace unisono {
namespace {

constexpr std::uint32_t magic_v1 = 0x0BD10BD0;
constexpr std::uint32_t magic_v3 = 0x0BD30BD0;
constexpr std::uint32_t magic_specific = 0x0BD50BD0;  // as v3, the user chose the OSTs
constexpr std::uint32_t magic_composite = 0x0BD60BD0;
constexpr std::uint32_t magic_foreign = 0x0BD70BD0;

constexpr std::uint32_t pattern_raid0 = 0x001;
constexpr std::uint32_t pattern_metadata_server = 0x100;
constexpr std::uint32_t pattern_overstriping = 0x200;
constexpr std::uint32_t pattern_released = 0x80000000;

constexpr std::uint32_t flag_stale = 0x01;
constexpr std::uint32_t flag_instantiated = 0x10;
constexpr std::uint32_t flag_extension = 0x40;

// What follows are places in lov_user_md, lov_comp_md_v1 and lov_comp_md_entry_v1, in bytes.
constexpr std::uint64_t stripes_v1 = 32;
constexpr std::uint64_t stripes_v3 = 48;
constexpr std::uint64_t stripe_bytes = 24;
constexpr std::uint64_t entries = 32;
constexpr std::uint64_t entry_bytes = 48;

constexpr std::uint32_t stripe_count_most = 65532;  // more mean "all servers"
constexpr std::uint32_t no_ost = 0xffffffff;

struct Component {
    std::uint32_t mirror = 0;
    std::uint32_t flags = flag_instantiated;
    std::uint64_t begin = 0;
    std::uint64_t end = Striping::no_end;
    std::uint64_t unit = 0;
    std::uint32_t stripes = 0;
    std::vector<std::uint32_t> osts;  // index = stripe; none yet if not instantiated
    bool on_metadata_server = false;
};

/// Reads lov_user_md at `offset`; returns the complaint, empty if there is none.
std::string read_component(FieldReader& fields, std::uint64_t offset, Component& component) {
    auto const magic = fields.number32(offset);
    auto const pattern = fields.number32(offset + 4);
    component.unit = fields.number32(offset + 24);
    component.stripes = static_cast<std::uint32_t>(fields.number(offset + 28, 2));
    if (!fields.intact()) return "attribute is cut off";
    if (magic == magic_foreign) return "foreign layout";
    if (magic != magic_v1 && magic != magic_v3 && magic != magic_specific)
        return "unknown magic number";

    auto const kind = pattern & 0xffff;
    if (kind == pattern_metadata_server) {
        component.on_metadata_server = true;
        return {};
    }
    if ((kind & ~pattern_overstriping) != pattern_raid0) return "unknown striping pattern";
    if (component.unit == 0) return "stripe size is zero";
    if ((pattern & pattern_released) != 0) component.flags &= ~flag_instantiated;
    if ((component.flags & flag_instantiated) == 0) return {};

    if (component.stripes == 0 || component.stripes > stripe_count_most)
        return "stripe count " + std::to_string(component.stripes);
    auto const objects = offset + (magic == magic_v1 ? stripes_v1 : stripes_v3);
    for (std::uint32_t stripe = 0; stripe < component.stripes && fields.intact(); ++stripe) {
        component.osts.push_back(fields.number32(objects + stripe * stripe_bytes + 20));
        if (component.osts.back() == no_ost) return "a stripe has no object";
    }
    return fields.intact() ? "" : "attribute is cut off";
}

/// Reads entry `index` of a composite layout.
std::string read_entry(FieldReader& fields, std::uint64_t index, Component& component) {
    auto const entry = entries + index * entry_bytes;
    component.mirror = fields.number32(entry) >> 16 & 0x7fff;
    component.flags = fields.number32(entry + 4);
    component.begin = fields.number(entry + 8, 8);
    component.end = fields.number(entry + 16, 8);
    auto const offset = fields.number32(entry + 24);
    if (!fields.intact()) return "attribute is cut off";
    if ((component.flags & flag_extension) != 0) return {};
    return read_component(fields, offset, component);
}

/// The component of a mirror in file order: no gaps, no overlap, the last one without an end.
std::string make_continuous(std::vector<Component>& components, std::string& remark) {
    // An extension has no objects ever: what is before it grows into it.
    for (std::size_t i = 1; i < components.size(); ++i)
        if ((components[i].flags & flag_extension) != 0) {
            components[i - 1].end = std::max(components[i - 1].end, components[i].end);
            components.erase(components.begin() + static_cast<std::ptrdiff_t>(i--));
        }
    std::erase_if(components, [](auto const& component) {
        return component.begin == component.end && component.begin != 0;
    });
    std::uint64_t begin = 0;
    for (auto const& component : components) {
        if ((component.flags & flag_extension) != 0) return "an extension extends nothing";
        if (component.begin != begin || component.end <= begin)
            return "components do not follow each other";
        begin = component.end;
    }
    if (components.empty()) return "no component";
    if (begin != Striping::no_end) {
        remark = "ends at " + std::to_string(begin);
        components.back().end = Striping::no_end;
    }
    return {};
}

/// Which servers the components are on, as numbers in this file.
class Numbering {
public:
    explicit Numbering(std::vector<Component> const& components) {
        std::vector<std::uint32_t> osts;
        for (auto const& component : components)
            osts.insert(osts.end(), component.osts.begin(), component.osts.end());
        numbers_ = dense_numbers(osts);
        if (!numbers_.empty()) metadata_server_ = std::ranges::max(numbers_) + 1;
        for (auto const& component : components)
            if (is_planned(component))
                metadata_server_ = std::max(metadata_server_, component.stripes);
    }

    /// To be called for each component in order. None: not known.
    std::vector<std::uint32_t> next(Component const& component) {
        if (component.on_metadata_server) return {metadata_server_};
        if (is_planned(component)) {
            std::vector<std::uint32_t> first(component.stripes);
            std::iota(first.begin(), first.end(), 0);
            return first;
        }
        auto const begin = numbers_.begin() + used_;
        used_ += static_cast<std::ptrdiff_t>(component.osts.size());
        return {begin, numbers_.begin() + used_};
    }

    /// Without objects yet, but it is known how many they will be.
    static bool is_planned(Component const& component) {
        return !component.on_metadata_server && component.osts.empty() && component.stripes > 0 &&
               component.stripes <= stripe_count_most;
    }

private:
    std::vector<std::uint32_t> numbers_;
    std::ptrdiff_t used_ = 0;
    std::uint32_t metadata_server_ = 0;  // after all others
};

Layout layout_of(std::vector<Component> const& components, std::string remark) {
    auto const note = [&](std::string const& text) {
        if (remark.find(text) != std::string::npos) return;
        remark += (remark.empty() ? "" : ", ") + text;
    };
    Numbering numbering(components);
    std::vector<Striping> stripings;
    for (auto const& component : components) {
        auto servers = numbering.next(component);
        if (Numbering::is_planned(component)) note("some servers not chosen yet");
        if (servers.empty()) note("some bytes will be on all servers, which are not known");
        auto const unit = component.unit != 0 ? component.unit : component.end - component.begin;
        stripings.push_back(Striping::round_robin(unit, std::move(servers), component.end));
    }
    return Layout::of("lustre", std::move(stripings), std::move(remark));
}

bool is_composite(FieldReader fields) { return fields.number32(0) == magic_composite; }

bool is_known(FieldReader fields) {
    auto const magic = fields.number32(0);
    return magic == magic_v1 || magic == magic_v3 || magic == magic_specific ||
           magic == magic_composite || magic == magic_foreign;
}

/// The first mirror that is up to date and can be read.
Layout parse_composite(FieldReader fields) {
    auto const bytes = fields.number32(4);
    auto const count = fields.number(14, 2);
    if (!fields.intact() || bytes > fields.size())
        return Layout::unknown("lustre", "attribute is cut off");
    std::string complaint = "no component";
    for (std::uint64_t first = 0; first < count;) {
        std::vector<Component> components;
        std::string problem;
        std::uint32_t mirror = 0;
        auto index = first;
        for (; index < count; ++index) {
            Component component;
            auto its_problem = read_entry(fields, index, component);
            if (index == first) mirror = component.mirror;
            if (component.mirror != mirror) break;
            if ((component.flags & flag_stale) != 0) its_problem = "all mirrors are stale";
            if (problem.empty()) problem = std::move(its_problem);
            components.push_back(std::move(component));
        }
        std::string remark;
        if (problem.empty()) problem = make_continuous(components, remark);
        if (problem.empty()) {
            if (first != 0 || index != count) remark += remark.empty() ? "mirrored" : ", mirrored";
            return layout_of(components, std::move(remark));
        }
        complaint = std::move(problem);
        first = index;
    }
    return Layout::unknown("lustre", std::move(complaint));
}

std::optional<Layout> find_lustre(FileProbe const& probe, Options const&) {
    if (probe.magic != magic::lustre) return std::nullopt;
    auto const attribute = probe.attribute("lustre.lov");
    if (!attribute) return Layout::unknown("lustre", "lustre.lov cannot be read");
    return parse_lustre_layout(*attribute);
}

}  // namespace

Layout parse_lustre_layout(std::span<std::byte const> attribute) {
    FieldReader fields(attribute);
    if (!is_known(fields)) fields = FieldReader(attribute, true);
    if (!is_known(fields))
        return Layout::unknown(
            "lustre", attribute.size() < 4 ? "attribute is cut off" : "unknown magic number");
    if (is_composite(fields)) return parse_composite(fields);
    Component component;
    if (auto complaint = read_component(fields, 0, component); !complaint.empty())
        return Layout::unknown("lustre", std::move(complaint));
    return layout_of({component}, {});
}

constinit Provider const lustre_layouts{"lustre", find_lustre};

}  // namespace unisono
