#include "pocketfs/emulator.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "support/signals_blocked.hpp"

namespace unisono::testbed {

namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point real_time(Time time) { return Clock::time_point(std::chrono::nanoseconds(time)); }

// A thread that waits in between has nothing else to say for so long.
constexpr Time longest_wait = 100 * millisecond;

}  // namespace

Time Emulator::now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
        .count();
}

Emulator::Emulator(Profile const& profile, std::uint32_t servers, ServerOptions const& options,
                   std::unique_ptr<Carrier> carrier)
    : link_(profile.link),
      carrier_(std::move(carrier)),
      server_links_(servers, {Link(profile.link.server_mb_s), Link(profile.link.server_mb_s)}),
      gate_(servers, profile.drive.capacity_bytes) {
    for (std::uint32_t number = 0; number < servers; ++number) {
        auto own = options;
        own.seed = options.seed * 1000 + number;
        servers_.push_back(std::make_unique<ServerThread>(number, profile, own));
        servers_.back()->model.watch_disk(
            [this, number](DiskRequest const& request) { gate_.on_disk(number, request); });
    }
    SignalsBlocked const signals_blocked;  // they are for the program's main thread
    for (auto const& server : servers_)
        server->thread = std::thread([this, &server = *server] { run(server); });
}

Emulator::~Emulator() {
    gate_.stop();
    for (auto const& server : servers_) {
        std::lock_guard const lock(server->mutex);
        server->stop = true;
        server->wake.notify_all();
    }
    for (auto const& server : servers_) server->thread.join();
    carrier_.reset();  // what it still had is in the servers now
    std::vector<std::shared_ptr<Call>> left;
    for (auto const& server : servers_) {
        for (auto const& [id, part] : server->parts) left.push_back(part.call);
        for (; !server->departures.empty(); server->departures.pop())
            left.push_back(server->departures.top().call);
        for (; !server->replies.empty(); server->replies.pop())
            left.push_back(server->replies.top().call);
    }
    for (auto const& call : left)
        if (auto const done = std::exchange(call->done, nullptr)) done(EIO);
}

// ---- on the way to the servers
// -------------------------------------------------------------------

Emulator::ClientLinks& Emulator::links_of(std::uint64_t node) {
    auto const found = client_links_.find(node);
    if (found != client_links_.end()) return found->second;
    // Processes come and go; a link that is made anew is only free a little too early.
    if (client_links_.size() > 4096) client_links_.clear();
    return client_links_[node] = {Link(link_.client_mb_s), Link(link_.client_mb_s)};
}

Time Emulator::send_request(std::uint64_t node, std::uint32_t server, Time now,
                            std::uint64_t bytes) {
    std::lock_guard const lock(links_mutex_);
    return transfer(links_of(node).out, server_links_[server].in, from_us(link_.latency_us), now,
                    bytes);
}

// What the client's own link has carried already, while the server's took it in.
Time Emulator::take_in_carried(std::uint32_t server, Time arrived, std::uint64_t bytes) {
    std::lock_guard const lock(links_mutex_);
    auto& in = server_links_[server].in;
    return in.occupy(arrived - in.duration(bytes), bytes).end + from_us(link_.latency_us);
}

void Emulator::submit(std::vector<Piece> pieces, Client const& client, Done done) {
    auto const call = std::make_shared<Call>();
    call->done = std::move(done);
    call->client = client;
    call->carried = carrier_ != nullptr && carrier_->reach(client);
    Time const began = now();
    call->pieces_left = pieces.size();
    for (auto& piece : pieces) {
        piece.request.process = client.process;
        piece.request.client = client.node;
        auto const bytes = piece.request.operation == Operation::write ? piece.request.bytes : 0;
        if (call->carried && bytes > 0)
            carrier_->carry(client.node, piece.server, Carrier::Way::to_server, bytes, [=, this] {
                reach_server(piece, call, take_in_carried(piece.server, now(), bytes));
            });
        else
            reach_server(piece, call, send_request(client.node, piece.server, began, bytes));
    }
}

// It enters when it is its program's turn.
void Emulator::reach_server(Piece const& piece, std::shared_ptr<Call> const& call, Time arrival) {
    bool const placed = piece.request.operation != Operation::flush;
    Gate::ServerRequest const server_request{
        .program = call->client.job,
        .server = piece.server,
        .address = placed ? std::optional{piece.request.address} : std::nullopt,
        .bytes = piece.request.bytes,
        .file = piece.request.file};
    gate_.enter(server_request, [this, piece, call, arrival](Gate::AdmissionToken token) {
        auto const entered = std::max(arrival, token.done.admitted);
        submit_piece(piece, call, entered, std::move(token));
    });
}

void Emulator::submit_piece(Piece const& piece, std::shared_ptr<Call> const& call, Time arrival,
                            Gate::AdmissionToken token) {
    TraceEntry entry{.time = arrival,
                     .server = piece.server,
                     .operation = piece.request.operation,
                     .address = piece.request.address,
                     .bytes = piece.request.bytes,
                     .process = call->client.process};
    std::memcpy(entry.program, call->client.program, sizeof entry.program);
    trace_.add(entry);
    auto& server = *servers_[piece.server];
    std::lock_guard const lock(server.mutex);
    auto request = piece.request;
    request.id = server.next_id++;
    bool const read = request.operation == Operation::read;
    server.parts[request.id] = {call, read ? request.bytes : 0, arrival, std::move(token)};
    if (server.fault.down) {
        piece_done(server, {request.id, arrival});
    } else {
        server.model.submit(arrival, request);
    }
    if (arrival < server.wakes_at) server.wake.notify_one();
}

// ---- in a server's thread
// ------------------------------------------------------------------------

// A faulty server has it done later than the model says.
Time Emulator::end_of(ServerThread const& server, Finished const& finished) {
    auto const arrived = server.parts.at(finished.id).arrived;
    auto const slowed =
        arrived + from_ns(static_cast<double>(finished.time - arrived) * server.fault.slow);
    return std::max({finished.time, slowed, server.fault.hangs_until});
}

void Emulator::piece_done(ServerThread& server, Finished const& finished) {
    auto const found = server.parts.find(finished.id);
    auto const part = std::move(found->second);
    server.parts.erase(found);
    gate_.finished(part.token, finished.time);
    std::lock_guard const lock(links_mutex_);
    auto& call = *part.call;
    if (server.fault.down) call.error = EIO;
    auto& out = server_links_[server.number].out;
    auto const latency = from_us(link_.latency_us);
    if (call.carried && part.answer_bytes > 0) {
        auto const sent = out.occupy(finished.time, part.answer_bytes);
        server.departures.push(
            {sent.begin + latency, sent.end + latency, part.answer_bytes, part.call});
        return;
    }
    answered(
        server, part.call,
        transfer(out, links_of(call.client.node).in, latency, finished.time, part.answer_bytes));
}

// One piece's answer is with the client at `due`. Both mutexes are held.
void Emulator::answered(ServerThread& server, std::shared_ptr<Call> const& call, Time due) {
    call->due = std::max(call->due, due);
    if (--call->pieces_left == 0) server.replies.push({call->due, call});
}

void Emulator::answer_carried(ServerThread& server, Departure const& departure) {
    std::lock_guard const lock(server.mutex);
    std::lock_guard const links_lock(links_mutex_);
    answered(server, departure.call, std::max(departure.due, now()));
    server.wake.notify_one();
}

// Has the answers carried that are due to leave; the lock is given up meanwhile. False: none is.
bool Emulator::send_due(ServerThread& server, std::unique_lock<std::mutex>& lock) {
    std::vector<Departure> due;
    for (Time const time = now();
         !server.departures.empty() && server.departures.top().begin <= time;
         server.departures.pop())
        due.push_back(server.departures.top());
    if (due.empty()) return false;
    lock.unlock();
    for (auto const& departure : due)
        carrier_->carry(departure.call->client.node, server.number, Carrier::Way::to_client,
                        departure.bytes,
                        [this, &server, departure] { answer_carried(server, departure); });
    lock.lock();
    return true;
}

// Reports what is due; the lock is given up meanwhile. False: nothing was due.
bool Emulator::report_due(ServerThread& server, std::unique_lock<std::mutex>& lock) {
    std::vector<Reply> due;
    for (Time const time = now(); !server.replies.empty() && server.replies.top().due <= time;
         server.replies.pop())
        due.push_back(server.replies.top());
    if (due.empty()) return false;
    lock.unlock();
    std::vector<Time> late;
    for (auto const& reply : due) {
        late.push_back(now() - reply.due);
        std::exchange(reply.call->done, nullptr)(reply.call->error);
    }
    lock.lock();
    for (auto const time : late) server.lateness.add(time);
    return true;
}

void Emulator::run(ServerThread& server) {
    pthread_setname_np(pthread_self(), ("server " + std::to_string(server.number)).c_str());
    prctl(PR_SET_TIMERSLACK, 1);
    std::vector<Finished> finished;
    std::unique_lock lock(server.mutex);
    while (!server.stop) {
        server.model.advance(now(), finished);
        for (auto const& one : finished) server.ended.push({end_of(server, one), one});
        finished.clear();
        for (; !server.ended.empty() && server.ended.top().due <= now(); server.ended.pop())
            piece_done(server, {server.ended.top().in_model.id, server.ended.top().due});
        if (send_due(server, lock) || report_due(server, lock)) continue;
        Time next = server.model.next_event();
        if (!server.ended.empty()) next = std::min(next, server.ended.top().due);
        if (!server.departures.empty()) next = std::min(next, server.departures.top().begin);
        if (!server.replies.empty()) next = std::min(next, server.replies.top().due);
        server.wakes_at = next;
        server.wake.wait_until(lock, real_time(std::min(next, now() + longest_wait)));
        server.wakes_at = 0;
    }
}

// ---- control
// -------------------------------------------------------------------------------------

void Emulator::drop_caches() {
    for (auto const& server : servers_) {
        std::lock_guard const lock(server->mutex);
        server->model.drop_caches();
    }
}

void Emulator::discard(std::uint64_t address, std::uint64_t bytes) {
    for (auto const& server : servers_) {
        std::lock_guard const lock(server->mutex);
        server->model.discard(address, bytes);
    }
}

void Emulator::set_faults(std::map<std::uint32_t, ServerFault> faults) {
    for (auto const& server : servers_) {
        std::lock_guard const lock(server->mutex);
        server->fault = faults[server->number];
        // What has waited for a fault that is over leaves now.
        for (auto ended = std::exchange(server->ended, {}); !ended.empty(); ended.pop()) {
            auto const& [before, in_model] = ended.top();
            server->ended.push(
                {std::max(end_of(*server, in_model), std::min(before, now())), in_model});
        }
        server->wake.notify_one();
    }
}

void Emulator::reset_statistics() {
    for (auto const& server : servers_) {
        std::lock_guard const lock(server->mutex);
        server->lateness = {};
        server->model.reset_counters();
        server->drive_before = server->model.drive_counters();
    }
    trace_.clear();
    gate_.clear_turns();
}

namespace {

nlohmann::ordered_json server_json(ServerCounters const& server, DriveCounters const& drive,
                                   DriveCounters const& drive_before) {
    auto const accesses = server.reads + server.writes;
    auto const share = [](std::uint64_t part, std::uint64_t all) {
        return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, all));
    };
    return {{"reads", server.reads},
            {"writes", server.writes},
            {"flushes", server.flushes},
            {"read_bytes", server.read_bytes},
            {"written_bytes", server.written_bytes},
            {"cache_hits", server.cache_hits},
            {"block_requests", server.block_requests},
            {"ascending_share", share(server.ascending, accesses)},
            {"queue_depth_mean", share(server.depth_sum, accesses + server.flushes)},
            {"queue_depth_max", server.depth_max},
            {"drive_cache_hits", drive.cache_hits - drive_before.cache_hits},
            {"media_accesses", drive.media_accesses - drive_before.media_accesses},
            {"seeks", drive.seeks - drive_before.seeks},
            {"positioning_ms",
             static_cast<double>(drive.positioning_ns - drive_before.positioning_ns) / 1e6}};
}

}  // namespace

std::string Emulator::statistics() const {
    nlohmann::ordered_json servers = nlohmann::ordered_json::array();
    auto const lateness = std::make_unique<Lateness>();  // too large for a stack
    for (auto const& server : servers_) {
        std::lock_guard const lock(server->mutex);
        servers.push_back(server_json(server->model.counters(), server->model.drive_counters(),
                                      server->drive_before));
        lateness->add(server->lateness);
    }
    nlohmann::ordered_json const all = {{"emulated", true},
                                        {"lateness_us",
                                         {{"requests", lateness->total()},
                                          {"median", lateness->quantile_us(0.5)},
                                          {"p99", lateness->quantile_us(0.99)},
                                          {"longest", lateness->longest() / microsecond}}},
                                        {"servers", servers}};
    return all.dump();
}

}  // namespace unisono::testbed
