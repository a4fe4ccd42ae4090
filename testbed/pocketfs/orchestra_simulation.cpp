#include "pocketfs/orchestra_simulation.hpp"

#include <algorithm>

namespace unisono::testbed {

namespace {

constexpr Time lease = second;

// Well spread, and the same each time.
std::uint64_t scatter(std::uint64_t number) { return number * 0x9E3779B97F4A7C15 >> 20; }

}  // namespace

OrchestraSimulation::OrchestraSimulation(Profile const& profile, std::uint32_t servers,
                                         ServerOptions options)
    : profile_(profile),
      server_links_(servers, {Link(profile.link.server_mb_s), Link(profile.link.server_mb_s)}),
      server_gate_(servers, profile.drive.capacity_bytes) {
    auto const seed = options.seed * 1000;
    for (std::uint32_t number = 0; number < servers; ++number) {
        options.seed = seed + number;
        servers_.push_back(std::make_unique<Server>(profile, options));
        servers_.back()->watch_disk([this, number](DiskRequest const& request) {
            server_gate_.on_disk(
                {.server = number, .address = request.address, .file = request.file}, request.sent);
        });
    }
}

void OrchestraSimulation::add(SimulatedProgram const& what) {
    auto program = std::make_unique<Program>();
    program->what = what;
    program->number = programs_.size();
    program->steps.assign(what.processes, 0);
    program->links.assign(what.processes,
                          {Link(profile_.link.client_mb_s), Link(profile_.link.client_mb_s)});
    for (std::uint32_t process = 0; process < what.processes; ++process)
        at(what.begin,
           [this, &program = *program, process](Time now) { send(program, process, now); });
    programs_.push_back(std::move(program));
}

void OrchestraSimulation::orchestrate(std::unique_ptr<orchestra::Policy> policy) {
    policy_ = std::move(policy);
    next_decision_ = 0;
}

void OrchestraSimulation::at(Time time, std::function<void(Time)> what) {
    events_.push({time, order_++, std::move(what)});
}

// ---- programs
// ------------------------------------------------------------------------------------

void OrchestraSimulation::send(Program& program, std::uint32_t process, Time now) {
    auto const& what = program.what;
    if (now >= what.end) return;
    auto const units = what.object_bytes / what.segment_bytes * servers_.size();
    auto segment = program.steps[process] * what.processes + process;
    if (what.scattered) segment = scatter(segment);
    auto const unit = segment % units;
    auto const server = static_cast<std::uint32_t>(unit % servers_.size());
    auto const offset = unit / servers_.size() * what.segment_bytes;
    Request const request{
        .program = &program,
        .process = process,
        .server = server,
        .request = {.operation = what.writes ? Operation::write : Operation::read,
                    .address = what.address + offset,
                    .bytes = what.segment_bytes,
                    .readable_after = what.object_bytes - offset - what.segment_bytes,
                    .at_start = offset == 0,
                    .file = program.number + 1,
                    .process = program.number * 100 + process,
                    .client = program.number * 100 + process},
        .begun = now};
    auto const arrival =
        transfer(program.links[process].out, server_links_[server].in,
                 from_us(profile_.link.latency_us), now, what.writes ? what.segment_bytes : 0);
    at(arrival, [this, request](Time time) { arrive(request, time); });
}

void OrchestraSimulation::answered(Request const& request, Time now) {
    bytes_[request.program->what.name] += request.request.bytes;
    longest_wait_ = std::max(longest_wait_, now - request.begun);
    at(now + think_time(*request.program, request.process),
       [this, &program = *request.program, process = request.process](Time time) {
           step_done(program, process, time);
       });
}

Time OrchestraSimulation::think_time(Program const& program, std::uint32_t process) {
    auto const& what = program.what;
    auto const dice =
        scatter((program.number * 1000 + process) * 1'000'003 + program.steps[process]);
    bool const late = what.late > 0 && dice % 8 == 0;
    return what.think + (late ? static_cast<Time>(dice / 8 % 1024) * what.late / 1024 : 0);
}

void OrchestraSimulation::step_done(Program& program, std::uint32_t process, Time now) {
    ++program.steps[process];
    if (!program.what.barrier) {
        send(program, process, now);
        return;
    }
    if (++program.at_barrier < program.what.processes) return;
    program.at_barrier = 0;
    for (std::uint32_t each = 0; each < program.what.processes; ++each) send(program, each, now);
}

// ---- the gate
// ------------------------------------------------------------------------------------

void OrchestraSimulation::arrive(Request request, Time now) {
    orchestra::ServerRequest const server_request{.program = request.program->what.name,
                                                  .server = request.server,
                                                  .address = request.request.address,
                                                  .bytes = request.request.bytes,
                                                  .file = request.request.file};
    if (policy_ && !server_gate_.arrived(server_request, now))
        held_.push_back(std::move(request));
    else
        admit(std::move(request), false, now);
}

void OrchestraSimulation::admit(Request request, bool waited, Time now) {
    if (policy_)
        request.token = server_gate_.admit({.program = request.program->what.name,
                                            .server = request.server,
                                            .address = request.request.address,
                                            .bytes = request.request.bytes,
                                            .file = request.request.file},
                                           waited, now);
    request.request.id = next_id_++;
    servers_[request.server]->submit(now, request.request);
    in_servers_.emplace(request.request.id, std::move(request));
}

void OrchestraSimulation::release(Time now) {
    server_gate_.slice_scheduler().advance(now);
    std::deque<Request> kept;
    for (auto& request : held_) {
        if (server_gate_.admits(request.program->what.name))
            admit(std::move(request), true, now);
        else
            kept.push_back(std::move(request));
    }
    held_ = std::move(kept);
}

void OrchestraSimulation::decide(Time now) {
    decision_ = policy_->decide(server_gate_.report(now));
    server_gate_.slice_scheduler().adopt(
        {++epoch_, lease, decision_.work_conserving, decision_.objects}, now);
    next_decision_ = now + decision_.window;
}

// ---- time
// ----------------------------------------------------------------------------------------

Time OrchestraSimulation::next_time() const {
    Time next = std::min(next_decision_, server_gate_.slice_scheduler().next_event());
    if (!events_.empty()) next = std::min(next, events_.top().time);
    for (auto const& server : servers_) next = std::min(next, server->next_event());
    return next;
}

void OrchestraSimulation::run_until(Time end) {
    std::vector<Finished> finished;
    for (Time now = next_time(); now <= end; now = std::max(now, next_time())) {
        for (std::uint32_t number = 0; number < servers_.size(); ++number) {
            servers_[number]->advance(now, finished);
            for (auto const& one : finished) {
                auto node = in_servers_.extract(one.id);
                auto& request = node.mapped();
                if (policy_) server_gate_.finished(request.token, one.time);
                auto const answer =
                    transfer(server_links_[number].out, request.program->links[request.process].in,
                             from_us(profile_.link.latency_us), one.time,
                             request.program->what.writes ? 0 : request.request.bytes);
                at(answer, [this, request](Time time) { answered(request, time); });
            }
            finished.clear();
        }
        while (!events_.empty() && events_.top().time <= now) {
            auto const event = events_.top();
            events_.pop();
            event.what(now);
        }
        if (now >= next_decision_) decide(now);
        release(now);
    }
}

}  // namespace unisono::testbed
