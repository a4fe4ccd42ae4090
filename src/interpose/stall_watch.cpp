#include "interpose/stall_watch.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include "interpose/messages.hpp"
#include "interpose/operations.hpp"
#include "support/signals_blocked.hpp"

namespace unisono::interpose {

namespace {

using Watched = StallWatch::Watched;
using By = Watched::By;
using Clock = std::chrono::steady_clock;

struct Watching {
    std::mutex mutex;  // guards what follows
    std::vector<Watched*> files;
    std::jthread thread;
};

Watching& watching() {
    static auto* const watching = new Watching;  // the thread may run until the process ends
    return *watching;
}

NodeSeen look_around(MpiTeam& team) {
    auto const& topology = team.topology();
    auto const& rendezvous = team.rendezvous();
    auto const node = topology.node_of[team.rank()];
    NodeSeen seen{.calls = {},
                  .ranks = topology.ranks_of[node],
                  .me = rendezvous.local_index(),
                  .node = node,
                  .nodes = topology.nodes()};
    for (std::size_t i = 0; i < rendezvous.local_ranks(); ++i)
        seen.calls.push_back(rendezvous.seen(i));
    return seen;
}

// Of the files that are open here on the team. Locked.
CallWords words_of(MpiTeam const& team) {
    return {.operation = operation_name,
            .file = [&team](std::uint32_t file) -> std::string {
                for (auto const* watched : watching().files)
                    if (&watched->team == &team && watched->file == file) return watched->path;
                return "a file that is not open here";
            },
            .is_last = is_last_call};
}

By who_looks(Options const& options) {
    if (options.stall == "none") return By::nobody;
    return options.stall == "auto" ? By::rank : By::thread;
}

void look_at(Watched& watched, double slept_s) {
    auto const& rendezvous = watched.team.rendezvous();
    auto const mine = rendezvous.seen(rendezvous.local_index());
    if (!mine.inside || mine.tag.file != watched.file) return;
    auto const seen = look_around(watched.team);
    auto const words = words_of(watched.team);
    auto const finding = watched.observer.look(seen, slept_s, watched.limit_s, words);
    if (finding == StallObserver::Finding::none) return;
    auto text = describe_stall(seen, watched.observer.waited_s(), words);
    if (finding == StallObserver::Finding::no_end) text += "; these calls never meet";
    if (watched.abort) text += "; UNISONO_STALL=abort ends the program";
    print_once({text});
    // The thread that called MPI is stuck: whatever threads the program has asked for, nobody else
    // will end it.
    if (watched.abort) PMPI_Abort(watched.comm, 1);
}

// Sixteen looks within the shortest wait, one each second at least.
std::chrono::milliseconds until_next_look(std::vector<Watched*> const& files) {
    auto shortest_s = 16.0;
    for (auto const* watched : files) shortest_s = std::min(shortest_s, watched->limit_s);
    return std::chrono::milliseconds{static_cast<int>(shortest_s * 1000 / 16)};
}

// Between two looks, on a busy machine more than was meant. The clock goes on while a job is
// suspended.
double slept_s(Clock::time_point last, Clock::time_point now) {
    constexpr double most_s = 1;
    return std::min(std::chrono::duration<double>(now - last).count(), most_s);
}

// At the files of one team, or of all. Locked. Where memory is short it is not the watch that ends
// the program.
void look_at_files(By by, double slept_s, MpiTeam const* team = nullptr) try {
    for (auto* watched : watching().files)
        if (watched->by == by && (team == nullptr || team == &watched->team))
            look_at(*watched, slept_s);
} catch (std::bad_alloc const&) {
}

// What a rank that waits does by itself, now and then.
class OwnLook {
public:
    explicit OwnLook(MpiTeam const& team) : team_{&team} {}

    void operator()() {
        auto const now = Clock::now();
        if (now < next_) return;
        std::lock_guard const lock{watching().mutex};
        look_at_files(By::rank, slept_s(last_, now), team_);
        last_ = now;
        next_ = now + until_next_look(watching().files);
    }

private:
    MpiTeam const* team_;
    Clock::time_point last_;
    Clock::time_point next_;
};

void watch(std::stop_token const& ended) {
    auto& all = watching();
    std::condition_variable_any never;
    std::unique_lock lock{all.mutex};
    for (auto last = Clock::now(); !ended.stop_requested();) {
        never.wait_for(lock, ended, until_next_look(all.files), [] { return false; });
        auto const now = Clock::now();
        look_at_files(By::thread, slept_s(last, now));
        last = now;
    }
}

// Locked.
void start_thread(Watching& all) try {
    SignalsBlocked const blocked;
    all.thread = std::jthread{watch};
} catch (std::system_error const&) {
    // Where there may be no more threads nothing is watched.
}

}  // namespace

StallWatch::StallWatch(MpiTeam& team, MPI_Comm comm, std::uint32_t file, std::string const& path,
                       Options const& options)
    : watched_{.team = team,
               .comm = comm,
               .file = file,
               .path = path,
               .limit_s = static_cast<double>(options.stall_s),
               .by = who_looks(options),
               .abort = options.stall == "abort"} {
    auto& all = watching();
    std::lock_guard const lock{all.mutex};
    all.files.push_back(&watched_);
    if (watched_.by == By::rank && !team.calls_when_idle()) team.call_when_idle(OwnLook{team});
    if (watched_.by == By::thread && !all.thread.joinable()) start_thread(all);
}

StallWatch::~StallWatch() {
    std::jthread last;  // ends after the lock, which it needs
    auto& all = watching();
    std::lock_guard const lock{all.mutex};
    std::erase(all.files, &watched_);
    auto const needs_thread = [](auto const* watched) { return watched->by == By::thread; };
    if (std::ranges::none_of(all.files, needs_thread)) last = std::move(all.thread);
}

void end_stall_watch() {
    std::jthread last;  // ends after the lock, which it needs
    std::lock_guard const lock{watching().mutex};
    last = std::move(watching().thread);
}

std::string describe(CallsDiffer const& differ, MpiTeam const& team) {
    std::lock_guard const lock{watching().mutex};
    return describe_difference(differ.difference, words_of(team));
}

}  // namespace unisono::interpose
