// What a file has to report (File).

#include <sys/stat.h>

#include "interpose/errors.hpp"
#include "interpose/file.hpp"
#include "interpose/messages.hpp"
#include "interpose/program.hpp"
#include "interpose/run_history.hpp"
#include "layouts/server_bytes.hpp"
#include "layouts/striping_note.hpp"
#include "orchestra/gate/file_gate.hpp"
#include "support/clock.hpp"

namespace unisono::interpose {
namespace {

GateReport gate_report(orchestra::FileGate::Counts const& counts) {
    return {.accesses = counts.accesses,
            .waits = counts.waits,
            .waited = {counts.waited_s, counts.waited_s},
            .locality = std::string(orchestra::name_of(counts.locality))};
}

void add_access(DirectionReport& report, std::span<Transfer const> list, Layout const& layout) {
    if (list.empty()) return;
    auto const now_s = since_epoch(steady_clock_s());
    Extent const touched{list.front().offset, list.back().offset + list.back().bytes};
    AccessesInTime access{.begin_s = now_s, .end_s = now_s, .touched = touched};
    for (auto const& transfer : list) {
        access.bytes += transfer.bytes;
        add_server_bytes(report.server_bytes, layout,
                         {transfer.offset, transfer.offset + transfer.bytes});
    }
    report.accesses.add(access);
}

}  // namespace

void File::keep_timeline() {
    auto& report = reported_->report;
    auto const rank = rank_of_program(context_->rank());
    auto const entries = timeline_entries_at_most(ranks_of_program(context_->ranks()), order_ - 1);
    report.timeline.keep(rank, entries);
    for (auto* const direction : {&report.read, &report.write}) {
        direction->timeline.keep(rank, entries);
        direction->beside_timeline.keep(rank, entries);
        direction->accesses.keep(rank, entries);
    }
    io_counts_->on_access = [this](Direction direction, std::span<Transfer const> list) {
        record([&](FileReport& kept) {
            add_access(kept[direction], list, reported_->layout_of_accesses);
        });
    };
}

void File::keep_calls() {
    auto const* const opened_for = (access_mode_ & MPI_MODE_RDONLY) != 0   ? "r"
                                   : (access_mode_ & MPI_MODE_WRONLY) != 0 ? "w"
                                                                           : "rw";
    auto const ranks = static_cast<std::uint64_t>(context_->ranks());
    reported_->report.recording.keep(static_cast<std::uint32_t>(context_->rank()),
                                     recording_bytes_at_most(ranks, order_ - 1), opened_for);
}

void File::note_end() {
    if (reported_ == nullptr) return;
    struct stat status {};
    if (fstat(storage_.descriptor, &status) == 0)
        reported_->last_bytes = static_cast<std::uint64_t>(status.st_size);
    if (storage_.backend != nullptr) reported_->report.backend = storage_.backend->name();
    if (context_->rank() == 0) reported_->storage_text = describe_place();
}

void File::add_selections() {
    for (auto const& signature_class : reported_->examined) {
        auto const explained = context_->tuner().explain(signature_class);
        if (explained.calls_done == 0) continue;
        SelectionReport selection{.calls = describe_class(signature_class),
                                  .untried = explained.untried,
                                  .winner = explained.winner,
                                  .why = explained.why,
                                  .calls_done = explained.calls_done,
                                  .seconds = explained.seconds,
                                  .examination_seconds = explained.examination_seconds};
        for (auto const& tried : explained.tried)
            selection.tried.push_back(
                {tried.candidate, tried.calls, tried.remembered, tried.bytes_per_s});
        for (auto const& reopened : explained.reopened)
            selection.reopened.push_back({reopened.call, reopened.why});
        reported_->report[signature_class.direction].selections.push_back(std::move(selection));
    }
}

FileReport File::own_report() const {
    auto report = reported_->report;
    report.program = program_report();
    report.settings = options_->settings;
    if (atomic_) report.settings.emplace_back("atomic mode (MPI_File_set_atomicity)");
    if (report.recording.kept()) report.recording.hints = hints_;
    if (gate_ != nullptr) report.gate = gate_report(gate_->counts());
    if (storage_.backend != nullptr) report.backend = storage_.backend->name();
    report.syncs = io_counts_->syncs;
    for (auto const direction : {Direction::read, Direction::write}) {
        auto const& counts = (*io_counts_)[direction];
        auto& moved = report[direction];
        moved.most_asked_bytes = moved.asked_bytes;
        moved.lists = counts.lists;
        moved.extents = counts.extents;
        moved.moved_bytes = counts.bytes;
    }
    return report;
}

void File::keep_trace() {
    auto report = own_report();
    report.forget_details();
    report.unfinished = "it is open still";
    reported_->trace->keep(report);
}

void File::report_if_fatal(std::string const& error) {
    if (reported_ == nullptr || !handler_ends_program(handle_)) return;
    std::lock_guard const lock{mutex_};
    auto report = own_report();
    report.unfinished = "rank " + std::to_string(context_->rank()) +
                        " was to end the program by MPI_ERRORS_ARE_FATAL: " + error;
    print_report(*options_, report);
    reported_->trace.reset();
}

void File::finish_report(std::string const& unfinished) {
    if (reported_ == nullptr) return;
    if (context_->rank() == 0) add_selections();
    auto merged = own_report();
    merged.unfinished = unfinished;
    for (auto* const direction : {&merged.read, &merged.write})
        if (direction->collective_calls > 0 && context_->ranks() > 1)
            direction->latest = {context_->rank(), direction->seconds[Phase::arrival].total_s};
    context_->gather_on_rank_0(to_bytes(merged), [&](std::span<std::byte const> bytes) {
        if (auto const report = report_from_bytes(bytes)) merged.merge(*report);
    });
    if (context_->rank() != 0) return;
    for (auto* const direction : {&merged.read, &merged.write})
        if (direction->seconds[Phase::arrival].longest_s <= 0) direction->latest = {};
    if (layout_ && reported_->last_bytes)
        if (auto note = striping_note(*layout_, *reported_->last_bytes, merged.ranks);
            !note.empty())
            merged.notes.push_back(std::move(note));
    if (unfinished.empty())
        RunHistory::of_this_program().note(merged, *options_, reported_->storage_text);
    print_report(*options_, merged);
    reported_->trace.reset();
}

}  // namespace unisono::interpose
