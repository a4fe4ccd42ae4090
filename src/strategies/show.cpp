#include "strategies/show.hpp"

#include <algorithm>
#include <vector>

#include "access/copy.hpp"

namespace unisono {
namespace {

using Blocks = std::vector<std::uint64_t>;

constexpr std::size_t label_characters = 18;

std::string padded(std::string text, std::size_t characters) {
    text.resize(std::max(characters, text.size()), ' ');
    return text;
}

std::string line(std::string label, std::vector<std::string> const& cells) {
    auto text = padded(std::move(label), label_characters) + "|";
    for (auto const& cell : cells) text += padded(cell, 3) + "|";
    return text + "\n";
}

Blocks blocks_of(Realm const& realm, std::uint64_t block_bytes) {
    Blocks blocks;
    walk(realm.tiling, realm.positions, [&](std::int64_t offset, std::uint64_t bytes) {
        auto const begin = static_cast<std::uint64_t>(offset);
        for (auto block = begin / block_bytes; block * block_bytes < begin + bytes; ++block)
            if (blocks.empty() || blocks.back() != block) blocks.push_back(block);
    });
    return blocks;
}

// In place, because gcc 12 warns of "text" + std::to_string().
void append(std::string& text, std::string_view before, std::uint64_t number) {
    text += before;
    text += std::to_string(number);
}

std::string numbered(std::string_view what, std::uint64_t number) {
    std::string text;
    append(text, what, number);
    return text;
}

std::string aggregator_name(Plan const& plan, std::size_t index) {
    auto name = numbered("a", index);
    append(name, " rank ", plan.aggregators[index]);
    return name;
}

bool same_node(Topology const& topology, std::uint32_t a, std::uint32_t b) {
    return topology.node_of[a] == topology.node_of[b];
}

/// The columns of a picture.
struct Columns {
    Scene const& scene;
    std::uint64_t block_bytes;
    std::uint64_t first;
    std::uint64_t end;

    template <class Cell>
    [[nodiscard]] std::vector<std::string> cells(Cell&& cell) const {
        std::vector<std::string> all;
        for (auto block = first; block < end; ++block) all.push_back(cell(block));
        return all;
    }
    // Of what ranks ask for in a block: bytes that the realm has too.
    template <class Counts>
    [[nodiscard]] std::uint64_t bytes(std::uint64_t block, Realm const& realm,
                                      Counts&& counts) const {
        auto const part = within(realm, {block * block_bytes, (block + 1) * block_bytes});
        std::uint64_t sum = 0;
        for (std::uint32_t rank = 0; rank < scene.requests.size(); ++rank)
            if (auto const& request = scene.requests[rank]; counts(rank))
                sum += common_bytes(request.tiling, request.positions, part);
        return sum;
    }
    [[nodiscard]] std::string access(std::string label, Realm const& realm, auto&& counts) const {
        auto const whole = contiguous_realm({first * block_bytes, end * block_bytes});
        return line(std::move(label), cells([&](auto block) -> std::string {
                        auto const accessed = bytes(block, realm, counts);
                        if (accessed == 0) return "";
                        return accessed == bytes(block, whole, counts) ? "===" : "=";
                    }));
    }
};

std::string draw_asked(Columns const& columns) {
    auto const& layout = columns.scene.layout;
    auto text = line("block", columns.cells([](auto block) { return std::to_string(block); }));
    if (layout.known())
        text += line("on server", columns.cells([&](auto block) {
            return std::to_string(layout.server_of(block * columns.block_bytes));
        }));
    text += line("asked for by rank", columns.cells([&](auto block) {
        std::string ranks;
        Realm const all = contiguous_realm({0, columns.end * columns.block_bytes});
        for (std::uint32_t rank = 0; rank < columns.scene.requests.size(); ++rank)
            if (columns.bytes(block, all, [&](auto other) { return other == rank; }) > 0)
                append(ranks, ranks.empty() ? "" : ",", rank);
        return ranks;
    }));
    return text;
}

}  // namespace

std::string show_aggregators(Plan const& plan, Layout const& layout, std::uint64_t block_bytes) {
    std::string text;
    for (std::size_t i = 0; i < plan.aggregators.size(); ++i) {
        std::string servers;
        text += aggregator_name(plan, i) + ": blocks";
        for (auto const block : blocks_of(plan.realms[i], block_bytes)) {
            append(text, " ", block);
            append(servers, " ", layout.server_of(block * block_bytes));
        }
        text += " servers" + servers + "\n";
    }
    return text;
}

std::string show_servers(Plan const& plan, Layout const& layout, std::uint64_t block_bytes) {
    std::vector<std::string> lines(layout.servers());
    for (std::size_t i = 0; i < plan.aggregators.size(); ++i) {
        std::vector<bool> named(layout.servers());
        for (auto const block : blocks_of(plan.realms[i], block_bytes)) {
            auto const server = layout.server_of(block * block_bytes);
            if (!named[server]) append(lines[server], lines[server].empty() ? " a" : " | a", i);
            named[server] = true;
            append(lines[server], " ", block);
        }
    }
    std::string text;
    for (std::size_t server = 0; server < lines.size(); ++server) {
        append(text, "server ", server);
        text += ":" + lines[server] + "\n";
    }
    return text;
}

std::string show_turns(Plan const& plan) {
    std::string text;
    for (std::uint32_t rank = 0; rank < plan.waits_for.size(); ++rank) {
        if (plan.waits_for[rank] == rank) continue;
        append(text, text.empty() ? "" : ", ", rank);
        append(text, " after ", plan.waits_for[rank]);
    }
    return text;
}

std::vector<Realm> owned_realms(Plan const& plan, Facts const& facts) {
    if (plan.way != Plan::Way::cached) return plan.realms;
    std::vector<Realm> realms;
    auto const count = plan.aggregators.size();
    for (std::size_t i = 0; i < count; ++i)
        realms.push_back(striped_realm(i * plan.block_bytes, plan.block_bytes,
                                       count * plan.block_bytes, facts.touched));
    return realms;
}

std::string draw(Scene const& scene, Facts const& facts, Plan const& plan,
                 std::uint64_t block_bytes) {
    Columns const columns{scene, block_bytes, facts.touched.begin / block_bytes,
                          div_ceil(facts.touched.end, block_bytes)};
    auto text = draw_asked(columns);
    auto const realms = owned_realms(plan, facts);
    for (std::size_t i = 0; i < realms.size(); ++i)
        text += columns.access(aggregator_name(plan, i), realms[i], [&](auto rank) {
            return !plan.within_nodes || same_node(scene.topology, rank, plan.aggregators[i]);
        });
    if (plan.way == Plan::Way::direct)
        for (std::uint32_t rank = 0; rank < scene.requests.size(); ++rank)
            text += columns.access(numbered("rank ", rank), scene.requests[rank],
                                   [&](auto other) { return other == rank; });
    if (auto const turns = show_turns(plan); !turns.empty()) text += "ranks begin: " + turns + "\n";
    return text;
}

}  // namespace unisono
