#include "orchestra/gate/nodes_gate.hpp"

#include <algorithm>
#include <utility>

namespace unisono::orchestra {

namespace {

// A process has few accesses under way; one that claims more loses them.
constexpr std::size_t accesses_max = 4096;

constexpr Time silent_after = second;
constexpr Time silent_at_gate_after = lease_max + silent_after;

// Some milliseconds for a node daemon that slept too long, and for the message.
constexpr Time late_max = tell_period_max + 25 * millisecond;

}  // namespace

// ---- what nodes tell

void NodesGate::heard(std::uint64_t node, std::span<NodeEvent const> events, Time now) {
    for (auto const& event : events) {
        if (event.kind == NodeEvent::Kind::taken) {
            take(node, event, now);
            continue;
        }
        auto const found = slots_.find({node, event.slot});
        if (found == slots_.end()) continue;
        found->second.last_heard = now;
        if (event.kind == NodeEvent::Kind::waits) continue;
        // What a node tells is in order, however long its messages took.
        auto& last = nodes_[node];
        last = std::clamp(now - std::min(event.age, now), last, std::max(last, now));
        heard_.emplace(last, Heard{node, event});
    }
    count_until(settled(now));
}

void NodesGate::take(std::uint64_t node, NodeEvent const& event, Time now) {
    if (auto const old = slots_.find({node, event.slot}); old != slots_.end())
        abandon(old->second, now);
    slots_[{node, event.slot}] = {.program = event.program, .last_heard = now};
}

// What was until then has been told by all nodes. In turns they tell it at once.
Time NodesGate::settled(Time now) const {
    bool const may_be_late = nodes_.size() > 1 && slice_scheduler().is_open();
    return may_be_late ? now - late_max : never;
}

void NodesGate::count_until(Time until) {
    while (!heard_.empty() && heard_.begin()->first <= until) {
        auto const next = heard_.extract(heard_.begin());
        last_ = std::max(last_, next.key());  // time does not go back, whichever node says so
        count(next.mapped());
    }
}

void NodesGate::count(Heard const& heard) {
    auto const found = slots_.find({heard.node, heard.event.slot});
    if (found == slots_.end()) return;
    if (heard.event.kind == NodeEvent::Kind::left) {
        abandon(found->second, last_);
        slots_.erase(found);
        return;
    }
    count(found->second, heard.event);
}

void NodesGate::count(Slot& slot, NodeEvent const& event) {
    using Kind = NodeEvent::Kind;
    if (event.kind == Kind::entered || event.kind == Kind::held) {
        arrive(slot, event, last_);
        return;
    }
    auto const access = slot.accesses.find(event.token);
    if (access == slot.accesses.end()) return;
    admit(slot, access->second, last_);
    if (event.kind == Kind::released) return;
    if (!access->second.given_up) server_gate_.finished(*access->second.admitted, last_);
    slot.accesses.erase(access);
}

void NodesGate::arrive(Slot& slot, NodeEvent const& event, Time when) {
    if (slot.accesses.size() >= accesses_max || slot.accesses.contains(event.token)) return;
    bool const has_address = event.disk_address.kind != LocalityKind::none;
    if (has_address) localities_.insert(event.disk_address.kind);
    auto& access = slot.accesses[event.token];
    access.server_request = {
        .program = slot.program,
        .server = event.disk_address.server,
        .address = has_address ? std::optional{event.disk_address.address} : std::nullopt,
        .bytes = event.disk_address.bytes,
        .file = event.file};
    server_gate_.make_room_for(event.disk_address.server);
    // It may be another's turn by now: then it counts as one that waited and has been let in.
    access.waits = !server_gate_.arrived(access.server_request, when);
    if (event.kind == NodeEvent::Kind::entered) admit(slot, access, when);
}

void NodesGate::admit(Slot const& slot, Access& access, Time when) {
    if (access.admitted) return;
    access.server_request.program = slot.program;
    bool const is_held = access.waits && !access.given_up;
    access.admitted = server_gate_.admit(access.server_request, is_held, when);
    server_gate_.on_disk(access.server_request, when);  // as far as can be seen from here
}

// Its accesses are over, but say nothing about the servers.
void NodesGate::abandon(Slot& slot, Time now) {
    for (auto& [token, access] : slot.accesses) give_up(slot, access, now);
}

void NodesGate::give_up(Slot const& slot, Access& access, Time now) {
    if (std::exchange(access.given_up, true)) return;
    if (access.waits && !access.admitted) slice_scheduler().released(slot.program);
    slice_scheduler().finished(slot.program, std::max(now, last_));
}

void NodesGate::give_up_silent_ones(Time now) {
    for (auto& [name, slot] : slots_) {
        auto const silence = now - slot.last_heard;
        if (silence < silent_after) continue;
        for (auto& [token, access] : slot.accesses)
            if (access.admitted || silence >= silent_at_gate_after) give_up(slot, access, now);
    }
}

Report NodesGate::report(Time now) {
    count_until(settled(now));
    give_up_silent_ones(now);
    return server_gate_.report(now);
}

bool NodesGate::adopt(Schedule schedule, Time now) {
    if (!schedule.objects.empty()) count_until(never);
    return slice_scheduler().adopt(std::move(schedule), now);
}

void NodesGate::lost(std::uint64_t node, Time now) {
    nodes_.erase(node);
    auto const begin = slots_.lower_bound({node, 0});
    auto const end = slots_.lower_bound({node + 1, 0});
    for (auto slot = begin; slot != end; ++slot) abandon(slot->second, now);
    slots_.erase(begin, end);
}

std::string NodesGate::locality() const {
    std::string text;
    for (auto const kind : localities_) text.append(text.empty() ? "" : "+").append(name_of(kind));
    return text;
}

}  // namespace unisono::orchestra
