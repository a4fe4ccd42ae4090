#pragma once

#include <string>
#include <vector>

#include "orchestra/policy.hpp"
#include "orchestra/report.hpp"
#include "orchestra/slice_scheduler.hpp"

namespace unisono::orchestra {

/// How one program fared between two reports.
struct ProgramProgress {
    std::string id;
    double mb_s = 0;  ///< 10^6 bytes per second that were let in
    /// How many times as long it takes as alone; 0: not known, because it never had the servers to
    /// itself. From the server's time per request then and now, means over the servers.
    double slowdown = 0;
};

struct Progress {
    std::vector<ProgramProgress> programs;  ///< those that wanted something
    double mb_s = 0;
    /// Jain's index of 1/slowdown where all are known, else of the throughputs.
    double fairness = 1;
    bool fairness_is_of_slowdowns = false;
    /// By server: which share of the time its requests would have taken had each program been
    /// alone. 0: not known.
    std::vector<double> efficiency;
};

/// Reports of one gate, `before` the earlier.
Progress progress_between(Report const& before, Report const& after);

/// What `unisono orchestra status` shows, as JSON.
struct Status {
    std::string policy;
    std::string mountpoint;
    double lease_ms = 0;
    int pid = 0;
    std::string gate;                ///< where it stands: "servers" or "clients"
    std::string locality;            ///< how it is known where accesses go
    std::vector<std::string> nodes;  ///< of a gate in the clients: where there are node daemons
    std::vector<TurnRecord> turns;   ///< of a gate in the clients: the last ones
};
std::string show(Status const& status, Decision const& decision, Report const& report,
                 Progress const& progress);

}  // namespace unisono::orchestra
