#include "clients_gate.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "asked_to_end.hpp"
#include "coordinate/gate/client.hpp"

namespace unisono {

namespace {

using coordinate::millisecond;
using coordinate::monotonic_now;
using coordinate::Time;

constexpr std::size_t turns_shown = 64;

int poll_ms(Time time) {
    return static_cast<int>(std::clamp(time / millisecond + 1, Time{0}, Time{1000}));
}

}  // namespace

ClientsGate::ClientsGate(coordinate::wire::Address const& address,
                         coordinate::wire::Auth const& auth, double capacity_bytes)
    : listener_(address, auth), entrance_(capacity_bytes) {}

ClientsGate::~ClientsGate() {
    for (auto& agent : agents_) agent.connection->send(coordinate::show({.over = true}));
    auto const is_busy = [](Agent const& agent) { return agent.connection->want_write(); };
    for (int tries = 0; tries < 100 && std::ranges::any_of(agents_, is_busy); ++tries) {
        for (auto& agent : agents_) agent.connection->flush();
        usleep(5000);
    }
}

std::optional<coordinate::Report> ClientsGate::report() {
    return entrance_.report(monotonic_now());
}

int ClientsGate::send(coordinate::Schedule const& schedule) {
    auto const now = monotonic_now();
    if (!entrance_.turnstile().adopt(schedule, now)) return ESTALE;
    lease_end_ = now + schedule.lease;
    tell_all();
    return 0;
}

void ClientsGate::describe(coordinate::Status& status) const {
    status.gate = "clients";
    status.locality = entrance_.locality();
    for (auto const& agent : agents_)
        if (!agent.node.empty()) status.nodes.push_back(agent.node);
    auto const& history = entrance_.turnstile().history();
    auto const shown = std::min(history.size(), turns_shown);
    status.turns.assign(history.end() - static_cast<std::ptrdiff_t>(shown), history.end());
}

void ClientsGate::wait(Time time) {
    auto const end = monotonic_now() + time;
    while (asked_to_end == 0 && monotonic_now() < end) {
        if (entrance_.turnstile().advance(monotonic_now())) tell_all();
        wait_for_messages(std::min(end, entrance_.turnstile().next_event()));
        let_in();
        for (auto agent = agents_.begin(); agent != agents_.end();) {
            auto const next = std::next(agent);
            if (!hear(*agent)) drop(agent);
            agent = next;
        }
    }
}

void ClientsGate::wait_for_messages(Time until) {
    std::vector<pollfd> waiting{{listener_.fd(), POLLIN, 0}};
    for (auto const& agent : agents_)
        waiting.push_back(
            {agent.connection->fd(),
             static_cast<short>(POLLIN | (agent.connection->want_write() ? POLLOUT : 0)), 0});
    poll(waiting.data(), waiting.size(), poll_ms(until - monotonic_now()));
}

// ---- agents
// --------------------------------------------------------------------------------------

void ClientsGate::let_in() {
    while (auto connection = listener_.accept())
        agents_.push_back({.number = next_number_++, .connection = std::move(connection)});
}

// False: it has gone, or does not keep to the rules.
bool ClientsGate::hear(Agent& agent) {
    bool open = true;
    for (auto const& message : agent.connection->receive(open))
        if (!understand(agent, message)) {
            std::fprintf(stderr, "unisono-orchestrator: an agent (%s) does not make sense\n",
                         agent.connection->peer().name.c_str());
            return false;
        }
    return open && agent.connection->flush();
}

bool ClientsGate::understand(Agent& agent, std::string const& message) {
    if (agent.node.empty()) {
        auto const hello = coordinate::parse_hello(message);
        if (!hello) return false;
        agent.node = hello->node;
        tell(agent);
        return true;
    }
    auto const events = coordinate::parse_events(message);
    if (events) entrance_.heard(agent.number, *events, monotonic_now());
    return events.has_value();
}

void ClientsGate::drop(std::list<Agent>::iterator agent) {
    entrance_.lost(agent->number, monotonic_now());
    agents_.erase(agent);
}

// One that cannot be told notices that its lease ends; it is dropped when it is listened to next.
void ClientsGate::tell(Agent& agent) {
    auto const lease = std::max(lease_end_ - monotonic_now(), Time{0});
    agent.connection->send(coordinate::show(
        coordinate::Turnover{.admitted = entrance_.turnstile().admitted(), .lease = lease}));
}

void ClientsGate::tell_all() {
    for (auto& agent : agents_)
        if (!agent.node.empty()) tell(agent);
}

}  // namespace unisono
