#include "coordinate/gate/nodes_entrance.hpp"

#include <algorithm>

namespace unisono::coordinate {

namespace {

// A process has few accesses under way; one that claims more loses them.
constexpr std::size_t accesses_max = 4096;

constexpr Time silent_after = second;

}  // namespace

void NodesEntrance::heard(std::uint64_t node, std::span<NodeEvent const> events, Time now) {
    using Kind = NodeEvent::Kind;
    for (auto const& event : events) {
        if (event.kind == Kind::taken) {
            if (auto const old = seats_.find({node, event.seat}); old != seats_.end())
                abandon(old->second, now);
            seats_[{node, event.seat}] = {.program = event.program, .last_heard = now};
            continue;
        }
        auto const found = seats_.find({node, event.seat});
        if (found == seats_.end()) continue;
        auto& seat = found->second;
        seat.last_heard = now;
        if (event.kind == Kind::left) {
            abandon(seat, now);
            seats_.erase(found);
            continue;
        }
        // Time does not go back, whichever node says so.
        last_ = std::clamp(now - std::min(event.age, now), last_, std::max(last_, now));
        if (event.kind == Kind::entered || event.kind == Kind::held) {
            arrive(seat, event, last_);
            continue;
        }
        auto const access = seat.accesses.find(event.ticket);
        if (access == seat.accesses.end()) continue;
        admit(seat, access->second, last_);
        if (event.kind == Kind::released) continue;
        if (!access->second.given_up) entrance_.finished(*access->second.admitted, last_);
        seat.accesses.erase(access);
    }
}

void NodesEntrance::arrive(Seat& seat, NodeEvent const& event, Time when) {
    if (seat.accesses.size() >= accesses_max || seat.accesses.contains(event.ticket)) return;
    bool const has_place = event.place.kind != LocalityKind::none;
    if (has_place) localities_.insert(event.place.kind);
    auto& access = seat.accesses[event.ticket];
    access.passage = {.program = seat.program,
                      .server = event.place.server,
                      .address = has_place ? std::optional{event.place.address} : std::nullopt,
                      .bytes = event.place.bytes,
                      .file = event.file};
    entrance_.make_room_for(event.place.server);
    // It may be another's turn by now: then it counts as one that waited and has been let in.
    access.waits = !entrance_.arrived(access.passage, when);
    if (event.kind == NodeEvent::Kind::entered) admit(seat, access, when);
}

void NodesEntrance::admit(Seat const& seat, Access& access, Time when) {
    if (access.admitted) return;
    access.passage.program = seat.program;
    access.admitted = entrance_.admit(access.passage, access.waits, when);
}

// Its accesses are over, but say nothing about the servers.
void NodesEntrance::abandon(Seat const& seat, Time now) {
    for (auto const& [ticket, access] : seat.accesses) {
        if (access.given_up) continue;
        if (access.waits && !access.admitted) turnstile().released(seat.program);
        turnstile().finished(seat.program, std::max(now, last_));
    }
}

void NodesEntrance::give_up_silent_ones(Time now) {
    for (auto& [name, seat] : seats_) {
        if (now - seat.last_heard < silent_after) continue;
        for (auto& [ticket, access] : seat.accesses) {
            if (!access.admitted || access.given_up) continue;
            access.given_up = true;
            turnstile().finished(seat.program, std::max(now, last_));
        }
    }
}

Report NodesEntrance::report(Time now) {
    give_up_silent_ones(now);
    return entrance_.report(now);
}

void NodesEntrance::lost(std::uint64_t node, Time now) {
    auto const begin = seats_.lower_bound({node, 0});
    auto const end = seats_.lower_bound({node + 1, 0});
    for (auto seat = begin; seat != end; ++seat) abandon(seat->second, now);
    seats_.erase(begin, end);
}

std::string NodesEntrance::locality() const {
    std::string text;
    for (auto const kind : localities_) text.append(text.empty() ? "" : "+").append(name_of(kind));
    return text;
}

}  // namespace unisono::coordinate
