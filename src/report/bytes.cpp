#include "report/report.hpp"
#include "support/byte_stream.hpp"

namespace unisono {

template <MaybeConst<Use> Any, class Visitor>
void visit_members(Any& use, Visitor& visit) {
    visit(use.calls, use.why);
}

template <MaybeConst<SelectionReport::Tried> Any, class Visitor>
void visit_members(Any& tried, Visitor& visit) {
    visit(tried.candidate, tried.calls, tried.remembered, tried.bytes_per_s);
}

template <MaybeConst<SelectionReport::Reopened> Any, class Visitor>
void visit_members(Any& reopened, Visitor& visit) {
    visit(reopened.call, reopened.why);
}

template <MaybeConst<SelectionReport> Any, class Visitor>
void visit_members(Any& selection, Visitor& visit) {
    visit(selection.calls, selection.tried, selection.untried, selection.winner, selection.why,
          selection.calls_done, selection.seconds, selection.examination_seconds,
          selection.reopened);
}

template <class Any, class Visitor>
requires requires(Any timeline) { timeline.tracks; }
void visit_members(Any& timeline, Visitor& visit) { visit(timeline.tracks); }

template <class Any, class Visitor>
requires requires(Any track) { track.entries; }
void visit_members(Any& track, Visitor& visit) { visit(track.rank, track.entries); }

template <MaybeConst<Recording> Any, class Visitor>
void visit_members(Any& recording, Visitor& visit) {
    visit(recording.by_rank, recording.access, recording.hints);
}

template <MaybeConst<Recording::View> Any, class Visitor>
void visit_members(Any& view, Visitor& visit) {
    visit(view.shape, view.extent);
}

template <MaybeConst<Recording::Track> Any, class Visitor>
void visit_members(Any& track, Visitor& visit) {
    visit(track.rank, track.views, track.calls, track.left_out);
}

#define UNISONO_VISIT(type, member, ...) visit(report.member);

template <MaybeConst<DirectionReport> Any, class Visitor>
void visit_members(Any& report, Visitor& visit) {
    UNISONO_DIRECTION_FIELDS(UNISONO_VISIT)
}

template <MaybeConst<GateReport> Any, class Visitor>
void visit_members(Any& gate, Visitor& visit) {
    visit(gate.accesses, gate.waits, gate.waited, gate.locality);
}

template <MaybeConst<ProgramReport> Any, class Visitor>
void visit_members(Any& program, Visitor& visit) {
    visit(program.id, program.name, program.mpi, program.ranks, program.cores, program.began,
          program.seconds, program.core_wait_s);
}

template <MaybeConst<FileReport> Any, class Visitor>
void visit_members(Any& report, Visitor& visit){UNISONO_FILE_FIELDS(UNISONO_VISIT)}
#undef UNISONO_VISIT

std::vector<std::byte> to_bytes(FileReport const& report) {
    return bytes_of(report);
}

std::optional<FileReport> report_from_bytes(std::span<std::byte const> bytes) {
    return value_from_bytes<FileReport>(bytes);
}

}  // namespace unisono
