#include <algorithm>
#include <cmath>

#include "report/report.hpp"
#include "support/text.hpp"

namespace unisono {
namespace {

/// "two_phase 24 (interleaved), native 1 (atomic mode)"
std::string strategies_text(DirectionReport const& report) {
    std::string text;
    auto const add = [&](std::string const& name, std::uint64_t calls, std::string const& why) {
        if (!text.empty()) text += ", ";
        text += name + ' ' + grouped(calls);
        if (!why.empty()) text += " (" + why + ')';
    };
    for (auto const& [name, use] : report.strategies) {
        add(name, use.calls, use.why.empty() ? "" : use.why.front());
    }
    for (auto const& [name, use] : report.refusals) add("not " + name, use.calls, use.why.front());
    for (auto const* reasons : {&report.native_calls, &report.native_independent_calls})
        for (auto const& [reason, calls] : *reasons) add("passed on", calls, reason);
    return text;
}

/// "waiting 0.1 s, file 0.2 s, ...": what took any time, on the slowest rank of each.
template <class AnyPhase>
std::string phases_text(Times<AnyPhase> const& times) {
    std::string text;
    auto const& names = phase_names<AnyPhase>;
    for (std::size_t phase = 0; phase + 1 < names.size(); ++phase) {
        if (times.by_phase[phase].longest_s <= 0) continue;
        text += text.empty() ? "" : ", ";
        text += names[phase];
        text += ' ' + human_seconds(times.by_phase[phase].longest_s);
    }
    return text;
}

/// "two_phase won (1.20 times as fast as independent), 2 tried, 0.01 s of 1.2 s lost"
std::string selection_text(SelectionReport const& selection) {
    auto text = selection.winner + " won (" + selection.why + "), " +
                std::to_string(selection.tried.size()) + " tried, " +
                human_seconds(selection.examination_seconds) + " of " +
                human_seconds(selection.seconds) + " lost";
    if (!selection.reopened.empty())
        text += ", examined again " + counted(selection.reopened.size(), "time");
    return text;
}

/// Where no call failed, all that was asked for, whatever was moved for it.
double done_bytes(DirectionReport const& report) {
    auto const done = report.moved_bytes + report.native_bytes;
    auto const failed = report.failed_calls + report.failed_independent_calls > 0;
    return static_cast<double>(failed ? std::min(report.asked_bytes, done) : report.asked_bytes);
}

std::string direction_text(char const* verb, DirectionReport const& report) {
    auto const asked = static_cast<double>(report.asked_bytes);
    auto const native = static_cast<double>(report.native_bytes);
    std::string text = std::string(verb) + ' ' + human_bytes(asked);
    if (report.pieces > 0)
        text += " in " + counted(report.pieces, "piece") + " of " +
                human_bytes(std::round((asked - native) / static_cast<double>(report.pieces)));
    text += " in " + counted(report.collective_calls, "collective call");
    if (report.independent_calls > 0) {
        text += " and " + grouped(report.independent_calls) + " independent";
    }
    if (auto const seconds = report.seconds[Phase::whole].longest_s; seconds > 0)
        text += ", " + human_seconds(seconds);
    if (auto const seconds = report.beside_time.longest_s; seconds > 0)
        text += ", " + human_seconds(seconds) + " beside the program";
    if (auto const seconds = report.busy_s().value_or(0); seconds > 0)
        text += ", " + human_bytes(done_bytes(report) / seconds) + "/s";
    if (report.failed_calls > 0) text += ", " + grouped(report.failed_calls) + " FAILED";
    if (auto const strategies = strategies_text(report); !strategies.empty()) {
        text += ": " + strategies;
    }
    for (auto const& selection : report.selections)
        text += "; " + selection.calls + ": " + selection_text(selection);
    if (auto const phases = phases_text(report.seconds); !phases.empty()) text += "; " + phases;
    if (report.latest.rank >= 0) text += ", last came rank " + std::to_string(report.latest.rank);
    if (report.asked_bytes > report.native_bytes)
        text += print("; moved %.2f per byte asked",
                      static_cast<double>(report.moved_bytes) / (asked - native));
    return text;
}

}  // namespace

std::string summary_line(FileReport const& report) {
    std::string text = "unisono: " + report.file + ": " + counted(report.ranks, "rank");
    if (report.nodes > 1) text += " on " + counted(report.nodes, "node");
    if (report.aggregators > 0) text += ", " + counted(report.aggregators, "aggregator");
    if (!report.backend.empty()) text += ", " + report.backend;
    if (!report.layout.empty()) text += ", " + report.layout;
    if (!report.unfinished.empty()) text += "; NOT CLOSED: " + report.unfinished;
    if (!report.left_alone.empty())
        text += "; left to the MPI library: " + report.left_alone;
    else if (report.write.idle() && report.read.idle())
        text += "; no data access";
    if (!report.write.idle()) text += "; " + direction_text("wrote", report.write);
    if (!report.read.idle()) text += "; " + direction_text("read", report.read);
    if (auto const phases = phases_text(report.seconds); !phases.empty()) text += "; " + phases;
    if (report.gate.waits > 0)
        text += "; waited " + human_seconds(report.gate.waited.longest_s) +
                " for the program's turn, " + counted(report.gate.waits, "time") + " in all";
    if (report.slower.runs > 0) text += "; SLOWER: " + describe(report.slower);
    for (auto const& note : report.notes) text += "; note: " + note;
    return text;
}

}  // namespace unisono
