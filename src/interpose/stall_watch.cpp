#include "interpose/stall_watch.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "interpose/messages.hpp"
#include "interpose/operations.hpp"

namespace unisono::interpose {

struct StallWatch::Watched {
    MpiTeam& team;
    MPI_Comm comm;
    std::uint32_t file;
    std::string path;
    double limit_s;
    bool wanted;
    bool abort;
    StallObserver observer{file};
};

namespace {

using Watched = StallWatch::Watched;

struct Watching {
    std::mutex mutex;  // guards what follows
    std::condition_variable changed;
    std::vector<Watched*> files;
    std::thread thread;
    bool ended = false;
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

void look_at(Watched& watched, double slept_s) {
    if (!watched.wanted) return;
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

// Counts what it has slept, as the clock goes on while a job is suspended.
void watch() {
    auto& all = watching();
    std::unique_lock lock{all.mutex};
    while (!all.ended) {
        auto const pause = until_next_look(all.files);
        all.changed.wait_for(lock, pause, [&] { return all.ended; });
        auto const slept_s = std::chrono::duration<double>(pause).count();
        for (auto* watched : all.files) look_at(*watched, slept_s);
    }
}

// Signals are for the program's threads. Locked.
void start_thread(Watching& all) {
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    try {
        all.thread = std::thread{watch};
    } catch (std::system_error const&) {
        all.ended = true;  // where there may be no more threads nothing is watched
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

StallWatch::StallWatch(MpiTeam& team, MPI_Comm comm, std::uint32_t file, std::string path,
                       Options const& options)
    : watched_{new Watched{.team = team,
                           .comm = comm,
                           .file = file,
                           .path = std::move(path),
                           .limit_s = static_cast<double>(options.stall_s),
                           .wanted = options.stall != "none",
                           .abort = options.stall == "abort"}} {
    auto& all = watching();
    std::lock_guard const lock{all.mutex};
    all.files.push_back(watched_.get());
    if (watched_->wanted && !all.thread.joinable() && !all.ended) start_thread(all);
}

StallWatch::~StallWatch() {
    auto& all = watching();
    std::lock_guard const lock{all.mutex};
    std::erase(all.files, watched_.get());
}

void end_stall_watch() {
    auto& all = watching();
    {
        std::lock_guard const lock{all.mutex};
        all.ended = true;
    }
    all.changed.notify_all();
    if (all.thread.joinable()) all.thread.join();
}

std::string describe(CallsDiffer const& differ, MpiTeam const& team) {
    std::lock_guard const lock{watching().mutex};
    return describe_difference(differ.difference, words_of(team));
}

}  // namespace unisono::interpose
