#include "layouts/layout_text.hpp"

#include "support/text.hpp"

namespace unisono {
namespace {

/// One component on its way, zero where nothing was said.
struct Component {
    std::uint64_t end = Striping::no_end;
    std::uint64_t stripe_bytes = 0;
    std::uint32_t servers = 0;
    std::uint32_t first = 0;
};

/// Returns the complaint, empty if there is none.
std::string set_key(Component& component, std::string_view key, std::string_view value) {
    auto const refuse = [&](std::string const& valid) {
        return std::string(key) + ": \"" + std::string(value) + "\"; valid: " + valid;
    };
    if (key == "stripe_bytes" || key == "end") {
        auto const bytes = parse_bytes(value);
        if (!bytes || *bytes == 0) return refuse("a positive size, such as 65536 or 64K");
        (key == "end" ? component.end : component.stripe_bytes) = *bytes;
        return {};
    }
    if (key == "servers" || key == "first") {
        auto const count = parse_count(value);
        auto const least = key == "servers" ? 1u : 0u;
        if (!count || *count < least || *count > servers_most)
            return refuse("a number from " + std::to_string(least) + " to " +
                          std::to_string(servers_most));
        (key == "servers" ? component.servers : component.first) = *count;
        return {};
    }
    return "unknown key \"" + std::string(key) + "\"; valid: stripe_bytes, servers, first, end";
}

std::string parse_component(Component& component, std::string_view text) {
    for (auto const part : split(text, ',')) {
        auto const equals = part.find('=');
        auto const value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
        auto complaint = set_key(component, trim(part.substr(0, equals)), trim(value));
        if (!complaint.empty()) return complaint;
    }
    if (component.stripe_bytes == 0) return "stripe_bytes is missing";
    if (component.servers == 0) return "servers is missing";
    if (component.first >= component.servers) return "first is not below servers";
    return {};
}

Striping striping_of(Component const& component) {
    std::vector<std::uint32_t> servers(component.servers);
    for (std::uint32_t stripe = 0; stripe < component.servers; ++stripe)
        servers[stripe] = (component.first + stripe) % component.servers;
    return Striping::round_robin(component.stripe_bytes, std::move(servers), component.end);
}

}  // namespace

Layout parse_layout(std::string_view text, std::string source) {
    std::vector<Striping> stripings;
    for (auto const part : split(text, ';')) {
        Component component;
        if (auto complaint = parse_component(component, part); !complaint.empty())
            return Layout::unknown(std::move(source), std::move(complaint));
        stripings.push_back(striping_of(component));
    }
    return Layout::of(std::move(source), std::move(stripings));
}

}  // namespace unisono
