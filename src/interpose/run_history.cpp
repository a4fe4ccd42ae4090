#include "interpose/run_history.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "interpose/program.hpp"
#include "select/tune_store.hpp"

namespace unisono::interpose {
namespace {

// No more are kept, either.
constexpr std::size_t kinds_most = 100;

// Less says nothing of the file system.
bool tells_something(PastRun const& file) {
    constexpr std::uint64_t bytes_least = 1 << 20;
    constexpr double seconds_least = 0.05;
    return file.bytes >= bytes_least && file.seconds >= seconds_least;
}

}  // namespace

RunHistory& RunHistory::of_this_program() {
    static auto* const history = new RunHistory;  // files may be closed until the process ends
    return *history;
}

// The program's beginning is measured anew for each report, so it is taken once.
void RunHistory::begin(Options const& options, ProgramReport const& program) {
    if (std::exchange(begun_, true)) return;
    path_ = tune_paths(options).user;
    if (path_.empty()) return;
    machine_ = describe_machine();
    run_ = program.id + '@' + std::to_string(static_cast<std::int64_t>(program.began));
    earlier_ = recall_histories(path_);
}

void RunHistory::note(FileReport& report, Options const& options, std::string const& storage) {
    if (rank_of_program(0) != 0 || !tells_something(run_of(report))) return;
    std::lock_guard const lock{mutex_};
    try {
        begin(options, report.program);
        if (!path_.empty()) note_where_kept(report, storage);
    } catch (std::exception const&) {  // no memory, or a name that no file system takes
        path_.clear();
    }
}

void RunHistory::note_where_kept(FileReport& report, std::string const& storage) {
    auto file = run_of(report);
    file.id = run_;
    auto const kind = as_kept(kind_of(report, storage, machine_));
    auto const known = std::ranges::find(earlier_, kind, &FileHistory::kind);
    if (known != earlier_.end()) report.slower = slowdown(*known, file);
    remember(kind, file);
}

void RunHistory::remember(FileKind const& kind, PastRun const& file) {
    auto known = std::ranges::find(now_, kind, &FileHistory::kind);
    if (known == now_.end() && now_.size() == kinds_most) return;
    if (known == now_.end()) known = now_.insert(known, {.kind = kind, .runs = {{.id = run_}}});
    auto& run = known->runs.front();
    run.bytes += file.bytes;
    run.seconds += file.seconds;
    run.storage_seconds += file.storage_seconds;
    if (std::has_single_bit(++files_)) keep(path_, {}, now_);
}

}  // namespace unisono::interpose
