#include "coordinate/entrance.hpp"

namespace unisono::coordinate {

namespace {

constexpr Time forgotten_after = 60 * second;

double samples_of(auto const& mean) { return static_cast<double>(mean.count()); }

ServerPart part_of(ProgramAtServer const& numbers) {
    return {.requests = static_cast<double>(numbers.requests),
            .bytes = static_cast<double>(numbers.bytes),
            .gap_sectors = numbers.gap_sectors.value(),
            .reuse_ms = numbers.reuse_ms.value(),
            .reuse_samples = samples_of(numbers.reuse_ms),
            .open_ms = numbers.open_ms.value(),
            .open_samples = samples_of(numbers.open_ms),
            .dedicated_ms = numbers.dedicated_ms.value(),
            .dedicated_samples = samples_of(numbers.dedicated_ms),
            .slow_ms = numbers.slow_ms.value(),
            .slow_share = numbers.slow_share.value()};
}

}  // namespace

Entrance::Entrance(std::uint32_t servers, double capacity_bytes)
    : capacity_bytes_(capacity_bytes), locality_(servers) {}

// ---- requests
// ------------------------------------------------------------------------------------

bool Entrance::arrived(Passage const& passage, Time now) {
    bool const passes = turnstile_.admits(passage.program);
    auto phases = programs_.find(passage.program);
    if (phases == programs_.end())
        phases = programs_.emplace(std::string(passage.program), Phases{}).first;
    auto const* const demand = turnstile_.demand(passage.program);
    bool const idle = demand != nullptr && demand->held + demand->under_way == 0;
    phases->second.arrived(now, idle ? now - demand->last : 0);
    files_.used(passage.program, passage.file);
    turnstile_.arrived(passage.program, !passes, now);
    return passes;
}

Ticket Entrance::admit(Passage const& passage, bool waited, Time now) {
    if (waited) turnstile_.released(passage.program);
    locality_[passage.server].admitted(passage.program, passage.address, passage.bytes, now,
                                       turnstile_.grant(passage.program));
    return {.program = std::string(passage.program),
            .server = passage.server,
            .bytes = passage.bytes,
            .admitted = now};
}

void Entrance::finished(Ticket const& ticket, Time now) {
    locality_[ticket.server].finished(ticket.program, ticket.bytes, ticket.admitted, now,
                                      turnstile_.grant(ticket.program));
    turnstile_.finished(ticket.program, now);
}

// ---- reports
// -------------------------------------------------------------------------------------

void Entrance::begin_anew() {
    locality_.assign(locality_.size(), Locality{});
    files_ = {};
    programs_.clear();
    turnstile_.clear_demands();
}

void Entrance::forget_idle(Time now) {
    std::erase_if(programs_, [&](auto const& entry) {
        auto const* const demand = turnstile_.demand(entry.first);
        if (demand == nullptr || demand->held + demand->under_way > 0 ||
            now - demand->last < forgotten_after)
            return false;
        turnstile_.forget(entry.first);
        files_.forget(entry.first);
        for (auto& server : locality_) server.forget(entry.first);
        return true;
    });
}

ProgramReport Entrance::report_of(std::string const& program, Time now) const {
    auto const& phases = programs_.at(program);
    ProgramReport report{.id = program,
                         .characteristic_s = phases.characteristic_s(),
                         .phase_began_ms = to_ms(phases.began())};
    if (auto const* const demand = turnstile_.demand(program)) {
        report.held = static_cast<double>(demand->held);
        report.under_way = static_cast<double>(demand->under_way);
        if (demand->held + demand->under_way == 0) report.idle_ms = to_ms(now - demand->last);
    }
    for (auto const file : files_.of(program)) report.files.push_back(static_cast<double>(file));
    for (auto const& server : locality_) {
        auto const* const numbers = server.find(program);
        report.servers.push_back(numbers == nullptr ? ServerPart{} : part_of(*numbers));
    }
    return report;
}

Report Entrance::report(Time now) {
    forget_idle(now);
    Report report{.now_ms = to_ms(now),
                  .epoch = static_cast<double>(turnstile_.epoch()),
                  .open = turnstile_.is_open(),
                  .capacity_bytes = capacity_bytes_};
    for (auto const& server : locality_) {
        report.gap_sectors.push_back(server.gap_sectors().value());
        report.pool_reuse_ms.push_back(server.pool_reuse_ms().value());
        report.pool_reuse_samples.push_back(samples_of(server.pool_reuse_ms()));
    }
    for (auto const& [program, phases] : programs_)
        report.programs.push_back(report_of(program, now));
    return report;
}

}  // namespace unisono::coordinate
