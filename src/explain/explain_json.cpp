#include "explain/explain_json.hpp"

#include <bit>
#include <nlohmann/json.hpp>

#include "strategies/show.hpp"

namespace unisono {
namespace {

using Json = nlohmann::ordered_json;

constexpr Extent everything{0, std::uint64_t{1} << 62};

std::string_view name_of(Plan::Way way) {
    switch (way) {
        case Plan::Way::native:
            return "native";
        case Plan::Way::direct:
            return "direct";
        case Plan::Way::staged:
            return "staged";
        case Plan::Way::cached:
            break;
    }
    return "cached";
}

Json row(Realm const& request, Realm const& realm, Columns const& columns) {
    return bytes_by_column(request, realm, columns.begin, columns.column_bytes, columns.count);
}

Json call_json(Scene const& scene) {
    SceneFacts const known{scene};
    auto const& facts = known.facts;
    return {{"direction", scene.direction == Direction::write ? "write" : "read"},
            {"ranks", scene.topology.ranks()},
            {"nodes", scene.topology.nodes()},
            {"node_of", scene.topology.node_of},
            {"bytes", facts.bytes},
            {"pieces", facts.pieces},
            {"touched", {facts.touched.begin, facts.touched.end}},
            {"in_rank_order", facts.rank_ordered},
            {"local_storage", facts.local_storage},
            {"layout", scene.layout.known() ? scene.layout.describe() : ""}};
}

// Of each column the server of its first byte; none where its bytes are on several.
Json servers_json(Scene const& scene, Columns const& columns) {
    Json servers = Json::array();
    auto const& layout = scene.layout;
    for (std::size_t i = 0; layout.known() && i < columns.count; ++i) {
        auto const at = columns.begin + i * columns.column_bytes;
        auto const unit = layout.unit_at(at);
        if (at / unit == (at + columns.column_bytes - 1) / unit)
            servers.push_back(layout.server_of(at));
        else
            servers.push_back(nullptr);
    }
    return servers;
}

// Of its realm, what any rank asks for that it does this for.
Json aggregator_json(Scene const& scene, Explained const& explained, std::size_t index,
                     Columns const& columns) {
    auto const rank = explained.plan.aggregators[index];
    auto const& node_of = scene.topology.node_of;
    std::vector<std::uint64_t> bytes(columns.count);
    std::uint64_t all = 0;
    for (std::uint32_t asking = 0; asking < scene.requests.size(); ++asking) {
        if (explained.plan.within_nodes && node_of[asking] != node_of[rank]) continue;
        auto const& request = scene.requests[asking];
        auto const& realm = explained.realms[index];
        all += common_bytes(request.tiling, request.positions, realm);
        auto const more =
            bytes_by_column(request, realm, columns.begin, columns.column_bytes, columns.count);
        for (std::size_t i = 0; i < columns.count; ++i) bytes[i] += more[i];
    }
    auto const range = touched(explained.realms[index]);
    return {{"rank", rank},
            {"node", node_of[rank]},
            {"realm", {range.begin, range.end}},
            {"asked_bytes", all},
            {"columns", bytes}};
}

Json accesses_json(std::vector<Accesses> const& by_rank) {
    Json all = Json::array();
    for (std::uint32_t rank = 0; rank < by_rank.size(); ++rank) {
        auto const& one = by_rank[rank];
        if (one.extents == 0) continue;
        all.push_back({{"rank", rank},
                       {"lists", one.lists},
                       {"extents", one.extents},
                       {"bytes", one.bytes},
                       {"servers", one.servers}});
    }
    return all;
}

Json strategy_json(Scene const& scene, Asked const& asked, Columns const& columns) {
    auto const& [name, explained] = asked;
    Json json{{"asked", name},
              {"done_by", explained.strategy},
              {"why", explained.why},
              {"refusal", explained.refusal},
              {"way", explained.native ? "native" : name_of(explained.plan.way)}};
    if (explained.native || !explained.refusal.empty()) return json;
    auto const& traffic = explained.traffic;
    json["rounds"] = explained.rounds;
    json["window_bytes"] = explained.plan.window_bytes;
    json["messages"] = traffic.messages;
    json["message_bytes"] = traffic.message_bytes;
    json["meetings"] = traffic.meetings;
    json["barriers"] = traffic.barriers;
    json["reductions"] = traffic.reductions;
    json["own_bytes"] = explained.way.own;
    json["on_node_bytes"] = explained.way.on_node;
    json["between_nodes_bytes"] = explained.way.between_nodes;
    json["turns"] = show_turns(explained.plan);
    json["aggregators"] = Json::array();
    for (std::size_t i = 0; i < explained.realms.size(); ++i)
        json["aggregators"].push_back(aggregator_json(scene, explained, i, columns));
    json["accesses"] = accesses_json(explained.by_rank);
    return json;
}

}  // namespace

Columns columns_for(Extent part, std::size_t most) {
    auto bytes = std::bit_ceil(std::max<std::uint64_t>(div_ceil(part.bytes(), most), 1));
    // Whole columns may need one more than `most`.
    if (div_ceil(part.end, bytes) - part.begin / bytes > most) bytes *= 2;
    return {round_down(part.begin, bytes), bytes, div_ceil(part.end, bytes) - part.begin / bytes};
}

std::string explanation_json(Scene const& scene, Columns const& columns,
                             std::vector<Asked> const& strategies) {
    Json asked = Json::array();
    for (auto const& request : scene.requests)
        asked.push_back(row(request, contiguous_realm(everything), columns));
    Json looked_at = Json::array();
    for (auto const& strategy : strategies)
        looked_at.push_back(strategy_json(scene, strategy, columns));
    return Json{{"call", call_json(scene)},
                {"columns",
                 {{"begin", columns.begin},
                  {"column_bytes", columns.column_bytes},
                  {"count", columns.count}}},
                {"servers", servers_json(scene, columns)},
                {"asked", asked},
                {"strategies", looked_at}}
        .dump();
}

}  // namespace unisono
