#include "interpose/conclusion.hpp"

#include <algorithm>
#include <array>

#include "interpose/errors.hpp"

namespace unisono::interpose {

int code_of(File& file, DataCall const& call, int error_class, std::string const& why, Told told) {
    auto const text = std::string{call.name()} + " on " + file.path() + ": " + why;
    file.record([&](FileReport& report) {
        report.add_error(text);
        if (told == Told::this_rank) ++report[call.direction].failed_independent_calls;
    });
    if (told == Told::this_rank || file.context().rank() == 0) file.report_if_fatal(text);
    return error_code(error_class, text);
}

int code_of(File& file, DataCall const& call, Verdict const& verdict, Told told) {
    if (verdict.code == 0) return MPI_SUCCESS;
    return code_of(file, call, error_class_of(verdict.code), describe(verdict), told);
}

namespace {

std::string why_refused(Prepared const& prepared, Outcome const& outcome) {
    if (outcome.views_differ)
        return "rank " + std::to_string(outcome.refusing_rank) +
               " has its old view, as MPI_File_set_view failed there, and others have new ones";
    if (prepared.refusal != 0) return prepared.why;
    auto const* const what = outcome.refusal == MPI_ERR_NO_MEM ? "no memory" : "wrong arguments";
    return what + (" on rank " + std::to_string(outcome.refusing_rank));
}

}  // namespace

int code_of(File& file, DataCall const& call, Prepared const& prepared, Outcome const& outcome) {
    auto const told = outcome.local ? Told::this_rank : Told::all_ranks;
    auto const& verdict = outcome.verdict;
    if (outcome.refusal != 0)
        return code_of(file, call, outcome.refusal, why_refused(prepared, outcome), told);
    if (!outcome.fault.empty()) return code_of(file, call, MPI_ERR_NOT_SAME, outcome.fault, told);
    return code_of(file, call, verdict, told);
}

namespace {

void add_traffic(DirectionReport& report, CallRecord const& record) {
    report.rounds += record.rounds;
    report.messages += record.traffic.messages;
    report.sent_bytes += record.traffic.message_bytes;
    report.reductions += record.traffic.reductions;
    report.reduced_bytes += record.traffic.reduced_bytes;
    report.meetings += record.traffic.meetings;
    report.barriers += record.traffic.barriers;
}

void add_to(CallsTimeline& timeline, CallRecord const& record, std::uint64_t bytes) {
    if (!timeline.kept()) return;
    auto calls = record.in_time();
    calls.bytes = bytes;
    timeline.add(calls);
}

}  // namespace

void add_call(DirectionReport& report, CallRecord const& record, std::uint64_t bytes) {
    for (std::uint8_t phase = 0; phase < static_cast<std::uint8_t>(Phase::whole); ++phase)
        report.seconds.add(Phase{phase}, record[Phase{phase}]);
    add_traffic(report, record);
    add_to(report.timeline, record, bytes);
}

// Helpers may wait for ranks that are still computing: that is no work.
void add_call_beside(DirectionReport& report, CallRecord const& record, std::uint64_t bytes) {
    report.beside_time.add(record.whole_s() - record[Phase::arrival]);
    add_traffic(report, record);
    add_to(report.beside_timeline, record, bytes);
}

void add_file_call(FileReport& report, FilePhase phase, double begin_s, double end_s) {
    report.seconds.add(phase, end_s - begin_s);
    if (!report.timeline.kept()) return;
    CallsInTime call{.begin_s = since_epoch(begin_s), .end_s = since_epoch(end_s)};
    call.laps.add(static_cast<std::uint8_t>(phase), end_s - begin_s);
    report.timeline.add(call);
}

void add_request(DirectionReport& report, Request const& request) {
    report.asked_bytes += request.positions.bytes();
    auto const [pieces, exact] = count_pieces(request.view, request.positions);
    report.add_pieces(pieces, request.positions.bytes());
    if (!exact) report.estimated_pieces += pieces;
}

void add_native(DirectionReport& report, std::uint64_t bytes) {
    report.asked_bytes += bytes;
    report.native_bytes += bytes;
}

void note_native_failure(File& file, DataCall const& call, int code) {
    std::array<char, MPI_MAX_ERROR_STRING> why{};
    int length = 0;
    Error_string(code, why.data(), &length);
    file.record([&](FileReport& report) {
        report.add_error(std::string{call.name()} + " on " + file.path() + ": " +
                         std::string{why.data(), static_cast<std::size_t>(length)});
    });
}

void add_to_recording(FileReport& report, Prepared const& prepared) {
    auto const& request = prepared.request;
    if (prepared.usable)
        report.recording.add(request.direction, prepared.view->as_given, request.positions);
    else
        report.recording.add_unknown();
}

void add_to_recording(File& file, DataCall const& call, bool has_place) {
    if (!has_place) return file.record([](FileReport& report) { report.recording.add_unknown(); });
    bool kept = false;
    file.record([&](FileReport& report) { kept = report.recording.kept(); });
    if (!kept) return;
    auto prepared = prepare(file, call, Ends::later);
    if (prepared.refusal == 0) place(prepared, call.offset ? *call.offset : file.pointer());
    file.record([&](FileReport& report) { add_to_recording(report, prepared); });
}

void record_collective(File& file, Prepared const& prepared, Outcome const& outcome,
                       CallRecord const& record, Beside beside) {
    if (outcome.examined) file.note_examined(*outcome.examined);
    file.record([&](FileReport& report) {
        auto const& request = prepared.request;
        add_to_recording(report, prepared);
        auto& direction = report[request.direction];
        ++direction.collective_calls;
        auto const failed = outcome.native_failed || outcome.verdict.code != 0 ||
                            outcome.refusal != 0 || !outcome.fault.empty();
        direction.failed_calls += failed && !outcome.local;  // code_of() counts what is this rank's
        auto const bytes = outcome.native_failed ? 0 : request.positions.bytes();
        if (outcome.native)
            add_native(direction, bytes);
        else
            add_request(direction, request);
        if (!outcome.strategy.empty())  // else the call was refused before there was one
            direction.strategies[std::string{outcome.strategy}].add(1, outcome.why);
        if (!outcome.refusal_of_strategy.empty())
            direction.refusals[file.options().strategy].add(1, outcome.refusal_of_strategy);
        (beside == Beside::nothing ? add_call : add_call_beside)(direction, record, bytes);
        report.nodes = file.team().topology().nodes();
        report.aggregators =
            std::max(report.aggregators, static_cast<std::uint32_t>(outcome.aggregators));
    });
}

}  // namespace unisono::interpose
