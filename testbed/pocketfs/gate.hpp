#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "model/server.hpp"
#include "model/time.hpp"
#include "orchestra/server_gate.hpp"

namespace unisono::testbed {

/// The entry of all servers: holds requests of programs whose turn it is not, and tells an
/// orchestrator what came. One slice scheduler stands for those of all servers, which are in one
/// process.
///
/// Without an orchestrator, that is if no report was asked for in the last `watched_for`, it does
/// nothing: a request costs one atomic load. Thread-safe.
class Gate {
public:
    static constexpr Time watched_for = 3 * second;

    using ServerRequest = orchestra::ServerRequest;
    /// Give it to finished(). Its program is empty if nobody watches.
    using AdmissionToken = orchestra::AdmissionToken;
    /// Called without locks held, in the thread that enters or in the gate's own.
    using Go = std::function<void(AdmissionToken)>;

    Gate(std::uint32_t servers, double capacity_bytes);
    Gate(Gate const&) = delete;
    Gate& operator=(Gate const&) = delete;
    ~Gate() { stop(); }

    /// Calls `go`, now or when the program's turn comes.
    void enter(ServerRequest const& server_request, Go go);
    /// What is below the servers' caches. With a server's mutex held.
    void on_disk(std::uint32_t server, DiskRequest const& request);
    void finished(AdmissionToken const& token, Time now);

    /// For the orchestrator, as orchestra::show(Report); from now on there is one.
    std::string report();
    /// 0, or EINVAL for what is no schedule, ESTALE for one that is not newer than the last.
    int adopt(std::string_view schedule);
    /// The turns so far as lines "begin_us,end_us,object" with a heading.
    [[nodiscard]] std::string turns() const;
    void clear_turns();

    /// Lets in what is held, and everything from now on.
    void stop();

private:
    struct Held {
        ServerRequest server_request;
        std::string program;  // owns what request.program refers to
        Go go;
    };
    struct Admitted {
        Go go;
        AdmissionToken token;
    };

    void run();
    void begin_watch(Time now);
    std::vector<Admitted> release_admitted(Time now);

    std::atomic<bool> watched_ = false;

    mutable std::mutex mutex_;  // taken after a server's
    std::condition_variable wake_;
    bool stopped_ = false;
    std::uint64_t watch_ = 0;  // which one, so that what began before it is not counted
    Time last_report_ = 0;
    orchestra::ServerGate server_gate_;
    std::deque<Held> held_;
    std::thread thread_;
};

}  // namespace unisono::testbed
