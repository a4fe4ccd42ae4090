#include <nlohmann/json.hpp>

#include "report/report.hpp"

namespace unisono {
namespace {

using Json = nlohmann::ordered_json;

Json spent_json(DirectionReport const& report, std::uint32_t ranks) {
    Json seconds = Json::object();
    for (std::size_t phase = 0; phase < phase_names.size(); ++phase) {
        auto const& spent = report.spent[phase];
        seconds[std::string(phase_names[phase])] = {{"mean", spent.total_s / ranks},
                                                    {"longest", spent.longest_s}};
    }
    return seconds;
}

Json uses_json(std::map<std::string, Use> const& uses) {
    Json strategies = Json::object();
    for (auto const& [name, use] : uses) {
        strategies[name] = {{"calls", use.calls}, {"why", use.why}};
    }
    return strategies;
}

Json selection_json(SelectionReport const& selection) {
    Json tried = Json::array();
    for (auto const& one : selection.tried)
        tried.push_back({{"candidate", one.candidate},
                         {"calls", one.calls},
                         {"remembered", one.remembered},
                         {"bytes_per_second", one.bytes_per_s}});
    Json reopened = Json::array();
    for (auto const& one : selection.reopened)
        reopened.push_back({{"after_call", one.call}, {"why", one.why}});
    return {
        {"calls", selection.calls},       {"calls_done", selection.calls_done},
        {"tried", std::move(tried)},      {"untried", selection.untried},
        {"winner", selection.winner},     {"why", selection.why},
        {"seconds", selection.seconds},   {"examination_seconds", selection.examination_seconds},
        {"reopened", std::move(reopened)}};
}

Json selections_json(DirectionReport const& report) {
    Json selections = Json::array();
    for (auto const& selection : report.selections) selections.push_back(selection_json(selection));
    return selections;
}

Json direction_json(DirectionReport const& report, std::uint32_t ranks) {
    return {{"calls",
             {{"collective", report.collective_calls},
              {"failed", report.failed_calls},
              {"independent", report.independent_calls},
              {"native", report.native_calls}}},
            {"bytes",
             {{"asked", report.asked_bytes},
              {"moved", report.moved_bytes},
              {"sent", report.sent_bytes}}},
            {"messages", report.messages},
            {"pieces", report.pieces},
            {"holes", report.holes},
            {"rounds", report.rounds},
            {"meetings", report.meetings},
            {"seconds", spent_json(report, ranks)},
            {"strategies", uses_json(report.strategies)},
            {"refusals", uses_json(report.refusals)},
            {"selections", selections_json(report)}};
}

Json gate_json(GateReport const& gate, std::uint32_t ranks) {
    return {
        {"passages", gate.passages},
        {"waits", gate.waits},
        {"seconds", {{"mean", gate.waited.total_s / ranks}, {"longest", gate.waited.longest_s}}},
        {"locality", gate.locality}};
}

}  // namespace

std::string to_json(FileReport const& report) {
    Json json{{"file", report.file},
              {"unisono_version", UNISONO_VERSION},
              {"ranks", report.ranks},
              {"nodes", report.nodes},
              {"aggregators", report.aggregators},
              {"backend", report.backend},
              {"layout", report.layout},
              {"notes", report.notes},
              {"gate", gate_json(report.gate, report.ranks)},
              {"read", direction_json(report.read, report.ranks)},
              {"write", direction_json(report.write, report.ranks)}};
    // A file name is bytes; JSON is UTF-8.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace unisono
