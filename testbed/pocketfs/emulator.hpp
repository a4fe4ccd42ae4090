#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "model/link.hpp"
#include "model/server.hpp"
#include "pocketfs/carrier.hpp"
#include "pocketfs/clients.hpp"
#include "pocketfs/faults.hpp"
#include "pocketfs/gate.hpp"
#include "pocketfs/lateness.hpp"
#include "pocketfs/trace.hpp"

namespace unisono::testbed {

/// One server's part of a request.
struct Piece {
    std::uint32_t server = 0;
    ServerRequest request;  ///< id is set by the emulator
};

/// Runs modelled servers in real time: a thread per server advances its model to now, and reports a
/// request when the model says that its answer has arrived at the client. The model runs on its own
/// times, so a thread that wakes late delays one report and not the server.
class Emulator {
public:
    /// Called in a server's thread, without locks held; the argument is 0 or an errno.
    using Done = std::function<void(int error)>;

    /// With a carrier, the nodes that it reaches have their data carried, and no modelled link.
    Emulator(Profile const& profile, std::uint32_t servers, ServerOptions const& options,
             std::unique_ptr<Carrier> carrier = nullptr);
    Emulator(Emulator const&) = delete;
    Emulator& operator=(Emulator const&) = delete;
    /// Reports what is under way with EIO.
    ~Emulator();

    /// Thread-safe. `done` is called once, when all pieces are done; there is at least one.
    void submit(std::vector<Piece> pieces, Client const& client, Done done);

    void drop_caches();
    void discard(std::uint64_t address, std::uint64_t bytes);
    void set_faults(std::map<std::uint32_t, ServerFault> faults);

    /// Counters of all servers as JSON, since the start or the last reset.
    [[nodiscard]] std::string statistics() const;
    void reset_statistics();
    [[nodiscard]] Trace const& trace() const { return trace_; }
    Gate& gate() { return gate_; }

    /// Now, on the clock of the models.
    [[nodiscard]] static Time now();

private:
    struct Call {
        Done done;
        Client client;
        bool carried = false;  // its data, between its node and the servers
        Time due = 0;
        std::size_t pieces_left = 0;
        int error = 0;
    };

    struct Part {
        std::shared_ptr<Call> call;
        std::uint64_t answer_bytes = 0;
        Time arrived = 0;
        Gate::AdmissionToken token;
    };

    struct Reply {
        Time due;
        std::shared_ptr<Call> call;
        friend bool operator>(Reply const& a, Reply const& b) { return a.due > b.due; }
    };

    // A request leaves its server at `due`; later than in the model if it is faulty.
    struct Ended {
        Time due;
        Finished in_model;
        friend bool operator>(Ended const& a, Ended const& b) { return a.due > b.due; }
    };

    // A server's answer that is to be carried. It is sent on while the server still sends it.
    struct Departure {
        Time begin;
        Time due;  // if it is carried faster than the server sends
        std::uint64_t bytes;
        std::shared_ptr<Call> call;
        friend bool operator>(Departure const& a, Departure const& b) { return a.begin > b.begin; }
    };

    struct ServerThread {
        ServerThread(std::uint32_t number, Profile const& profile, ServerOptions const& options)
            : number(number), model(profile, options) {}

        std::uint32_t number;
        mutable std::mutex mutex;
        std::condition_variable wake;
        Time wakes_at = never;
        bool stop = false;
        Server model;
        ServerFault fault;
        std::uint64_t next_id = 1;
        std::map<std::uint64_t, Part> parts;
        std::priority_queue<Ended, std::vector<Ended>, std::greater<>> ended;
        std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures;
        std::priority_queue<Reply, std::vector<Reply>, std::greater<>> replies;
        Lateness lateness;
        DriveCounters drive_before;
        std::thread thread;
    };

    struct ClientLinks {
        Link out;
        Link in;
    };

    struct ServerLinks {
        Link out;
        Link in;
    };

    void run(ServerThread& server);
    bool report_due(ServerThread& server, std::unique_lock<std::mutex>& lock);
    bool send_due(ServerThread& server, std::unique_lock<std::mutex>& lock);
    static Time end_of(ServerThread const& server, Finished const& finished);
    void piece_done(ServerThread& server, Finished const& finished);
    void answer_carried(ServerThread& server, Departure const& departure);
    static void answered(ServerThread& server, std::shared_ptr<Call> const& call, Time due);
    void reach_server(Piece const& piece, std::shared_ptr<Call> const& call, Time arrival);
    void submit_piece(Piece const& piece, std::shared_ptr<Call> const& call, Time arrival,
                      Gate::AdmissionToken token);
    Time send_request(std::uint64_t node, std::uint32_t server, Time now, std::uint64_t bytes);
    Time take_in_carried(std::uint32_t server, Time arrived, std::uint64_t bytes);
    ClientLinks& links_of(std::uint64_t node);

    LinkProfile link_;
    std::unique_ptr<Carrier> carrier_;  // null: all links are modelled
    mutable std::mutex links_mutex_;  // also guards all calls' pieces; taken after a server's mutex
    std::vector<ServerLinks> server_links_;
    std::map<std::uint64_t, ClientLinks> client_links_;
    Trace trace_;
    std::vector<std::unique_ptr<ServerThread>> servers_;
    Gate gate_;
};

}  // namespace unisono::testbed
