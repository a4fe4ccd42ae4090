#include "clients_gate.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "asked_to_end.hpp"
#include "orchestra/gate/client.hpp"

namespace unisono {

namespace {

using orchestra::millisecond;
using orchestra::monotonic_now;
using orchestra::Time;

constexpr std::size_t turns_shown = 64;
constexpr Time refusals_apart = 10 * orchestra::second;

int poll_ms(Time time) {
    return static_cast<int>(std::clamp(time / millisecond + 1, Time{0}, Time{1000}));
}

}  // namespace

ClientsGate::ClientsGate(orchestra::wire::Address const& address, std::string const& key_file,
                         double capacity_bytes)
    : listener_(address, key_file), server_gate_(capacity_bytes) {}

ClientsGate::~ClientsGate() {
    for (auto& daemon : daemons_) daemon.connection->send(orchestra::show({.over = true}));
    auto const is_busy = [](NodeDaemon const& daemon) { return daemon.connection->want_write(); };
    for (int tries = 0; tries < 100 && std::ranges::any_of(daemons_, is_busy); ++tries) {
        for (auto& daemon : daemons_) daemon.connection->flush();
        usleep(5000);
    }
}

std::optional<orchestra::Report> ClientsGate::report() {
    return server_gate_.report(monotonic_now());
}

int ClientsGate::send(orchestra::Schedule const& schedule) {
    auto const now = monotonic_now();
    if (!server_gate_.adopt(schedule, now)) return ESTALE;
    lease_end_ = now + schedule.lease;
    tell_all();
    return 0;
}

void ClientsGate::describe(orchestra::Status& status) const {
    status.gate = "clients";
    status.locality = server_gate_.locality();
    for (auto const& daemon : daemons_)
        if (!daemon.node.empty()) status.nodes.push_back(daemon.node);
    auto const& history = server_gate_.slice_scheduler().history();
    auto const shown = std::min(history.size(), turns_shown);
    status.turns.assign(history.end() - static_cast<std::ptrdiff_t>(shown), history.end());
}

void ClientsGate::wait(Time time) {
    auto const end = monotonic_now() + time;
    nodes_are_others_ = false;
    while (asked_to_end == 0 && !nodes_are_others_ && monotonic_now() < end) {
        if (server_gate_.slice_scheduler().advance(monotonic_now())) tell_all();
        wait_for_messages(std::min(end, server_gate_.slice_scheduler().next_event()));
        let_in();
        for (auto daemon = daemons_.begin(); daemon != daemons_.end();) {
            auto const next = std::next(daemon);
            if (!hear(*daemon)) drop(daemon);
            daemon = next;
        }
    }
}

void ClientsGate::wait_for_messages(Time until) {
    std::vector<pollfd> waiting{{listener_.fd(), POLLIN, 0}};
    for (auto const& daemon : daemons_)
        waiting.push_back(
            {daemon.connection->fd(),
             static_cast<short>(POLLIN | (daemon.connection->want_write() ? POLLOUT : 0)), 0});
    poll(waiting.data(), waiting.size(), poll_ms(until - monotonic_now()));
}

// ---- node daemons

void ClientsGate::let_in() {
    while (auto connection = listener_.accept())
        daemons_.push_back({.number = next_number_++, .connection = std::move(connection)});
    tell_of_refusals();
}

// Some of them, so that nobody fills the log.
void ClientsGate::tell_of_refusals() {
    auto const now = monotonic_now();
    if (listener_.last_refusal() == told_ || now < next_told_) return;
    told_ = listener_.last_refusal();
    next_told_ = now + refusals_apart;
    std::fprintf(stderr, "unisono-orchestrator: refused %s\n", told_.c_str());
}

// False: it has gone, or does not keep to the rules.
bool ClientsGate::hear(NodeDaemon& daemon) {
    bool open = true;
    for (auto const& message : daemon.connection->receive(open))
        if (!understand(daemon, message)) {
            std::fprintf(stderr, "unisono-orchestrator: a node daemon (%s) does not make sense\n",
                         daemon.connection->peer().c_str());
            return false;
        }
    return open && daemon.connection->flush();
}

bool ClientsGate::understand(NodeDaemon& daemon, std::string const& message) {
    if (daemon.node.empty()) {
        auto const hello = orchestra::parse_hello(message);
        if (!hello) return false;
        daemon.node = hello->node;
        nodes_are_others_ = true;
        tell(daemon);
        return true;
    }
    auto const events = orchestra::parse_events(message);
    if (events) server_gate_.heard(daemon.number, *events, monotonic_now());
    return events.has_value();
}

void ClientsGate::drop(std::list<NodeDaemon>::iterator daemon) {
    server_gate_.lost(daemon->number, monotonic_now());
    nodes_are_others_ = nodes_are_others_ || !daemon->node.empty();
    daemons_.erase(daemon);
}

// One that cannot be told notices that its lease ends; it is dropped when it is listened to next.
void ClientsGate::tell(NodeDaemon& daemon) {
    auto const lease = std::max(lease_end_ - monotonic_now(), Time{0});
    daemon.connection->send(orchestra::show(orchestra::Turnover{
        .admitted = server_gate_.slice_scheduler().admitted(), .lease = lease}));
}

void ClientsGate::tell_all() {
    for (auto& daemon : daemons_)
        if (!daemon.node.empty()) tell(daemon);
}

}  // namespace unisono
