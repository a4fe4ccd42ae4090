#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "model/link.hpp"
#include "model/server.hpp"
#include "orchestra/policy.hpp"
#include "orchestra/server_gate.hpp"

namespace unisono::testbed {

/// A program of several processes, each on a node of its own, that access one file in segments:
/// process p of P takes the segments p, p + P, p + 2P, ... or, if `scattered`, segments all over.
struct SimulatedProgram {
    std::string name;
    std::uint32_t processes = 5;
    std::uint64_t segment_bytes = 65536;
    std::uint64_t address = 0;             ///< of the file on each server's disk
    std::uint64_t object_bytes = 1 << 30;  ///< of the file on each server
    bool barrier = true;                   ///< between segments
    bool scattered = false;
    bool writes = false;
    Time think = 0;  ///< between a segment and the next
    Time late = 0;   ///< and one time in eight up to so much more: its node has other work
    Time begin = 0;
    Time end = never;  ///< then it asks for nothing more
};

/// Servers, links, programs, gate and orchestrator on a virtual clock: what the pocket file system
/// does in real time, from the same parts, exactly and the same on every machine. For tests.
class OrchestraSimulation {
public:
    OrchestraSimulation(Profile const& profile, std::uint32_t servers, ServerOptions options);

    void add(SimulatedProgram const& program);
    /// From the beginning on; without it nobody orchestrates.
    void orchestrate(std::unique_ptr<orchestra::Policy> policy);
    /// The orchestrator dies.
    void forsake() { next_decision_ = never; }

    void run_until(Time end);

    /// Bytes that the clients have, by program.
    [[nodiscard]] std::map<std::string, std::uint64_t> const& bytes() const { return bytes_; }
    [[nodiscard]] orchestra::ServerGate const& server_gate() const { return server_gate_; }
    [[nodiscard]] orchestra::Decision const& decision() const { return decision_; }
    /// The longest time from a request to its answer so far.
    [[nodiscard]] Time longest_wait() const { return longest_wait_; }

private:
    struct Program;
    struct Request {
        Program* program = nullptr;
        std::uint32_t process = 0;
        std::uint32_t server = 0;
        ServerRequest request;
        orchestra::AdmissionToken token;
        Time begun = 0;
    };
    struct Links {
        Link out;
        Link in;
    };
    struct Program {
        SimulatedProgram what;
        std::uint64_t number = 0;
        std::vector<std::uint64_t> steps;  // by process
        std::vector<Links> links;          // by process
        std::uint32_t at_barrier = 0;
    };
    struct Event {
        Time time;
        std::uint64_t order;
        std::function<void(Time)> what;
        friend bool operator>(Event const& a, Event const& b) {
            return a.time != b.time ? a.time > b.time : a.order > b.order;
        }
    };

    void at(Time time, std::function<void(Time)> what);
    void send(Program& program, std::uint32_t process, Time now);
    void arrive(Request request, Time now);
    void admit(Request request, bool waited, Time now);
    void answered(Request const& request, Time now);
    [[nodiscard]] static Time think_time(Program const& program, std::uint32_t process);
    void step_done(Program& program, std::uint32_t process, Time now);
    void release(Time now);
    void decide(Time now);
    [[nodiscard]] Time next_time() const;

    Profile profile_;
    std::vector<std::unique_ptr<Server>> servers_;
    std::vector<Links> server_links_;
    std::vector<std::unique_ptr<Program>> programs_;
    orchestra::ServerGate server_gate_;
    std::unique_ptr<orchestra::Policy> policy_;
    orchestra::Decision decision_;
    Time next_decision_ = never;
    std::uint64_t epoch_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t next_id_ = 1;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::map<std::uint64_t, Request> in_servers_;
    std::deque<Request> held_;
    std::map<std::string, std::uint64_t> bytes_;
    Time longest_wait_ = 0;
};

}  // namespace unisono::testbed
