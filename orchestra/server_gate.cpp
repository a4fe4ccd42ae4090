#include "orchestra/server_gate.hpp"

namespace unisono::orchestra {

namespace {

constexpr Time forgotten_after = 60 * second;
constexpr std::size_t programs_max = 1024;  // of which those that want nothing are remembered

double samples_of(auto const& mean) { return static_cast<double>(mean.count()); }

ServerPart part_of(ProgramAtServer const& numbers) {
    return {.requests = static_cast<double>(numbers.requests),
            .bytes = static_cast<double>(numbers.bytes),
            .gap_sectors = numbers.gap_sectors.as_written(),
            .reuse_ms = numbers.reuse_ms.as_written(),
            .reuse_samples = samples_of(numbers.reuse_ms),
            .open_ms = numbers.open_ms.value(),
            .open_samples = samples_of(numbers.open_ms),
            .dedicated_ms = numbers.dedicated_ms.value(),
            .dedicated_samples = samples_of(numbers.dedicated_ms),
            .slow_ms = numbers.slow_ms.value(),
            .slow_share = numbers.slow_share.value(),
            .gap_sectors_linux = numbers.gap_sectors.as_linux(),
            .reuse_ms_linux = numbers.reuse_ms.as_linux()};
}

}  // namespace

ServerGate::ServerGate(std::uint32_t servers, double capacity_bytes)
    : capacity_bytes_(capacity_bytes), locality_(servers) {}

// ---- requests
// ------------------------------------------------------------------------------------

bool ServerGate::arrived(ServerRequest const& server_request, Time now) {
    bool const passes = slice_scheduler_.admits(server_request.program);
    auto phases = programs_.find(server_request.program);
    if (phases == programs_.end())
        phases = programs_.emplace(std::string(server_request.program), Phases{}).first;
    auto const* const demand = slice_scheduler_.demand(server_request.program);
    bool const idle = demand != nullptr && demand->held + demand->under_way == 0;
    phases->second.arrived(now, idle ? now - demand->last : 0);
    files_.used(server_request.program, server_request.file);
    slice_scheduler_.arrived(server_request.program, !passes, now);
    return passes;
}

AdmissionToken ServerGate::admit(ServerRequest const& server_request, bool waited, Time now) {
    if (waited) slice_scheduler_.released(server_request.program);
    bool const continues = locality_[server_request.server].admitted(
        server_request.program, server_request.address, server_request.bytes, now);
    return {.program = std::string(server_request.program),
            .server = server_request.server,
            .done = {.bytes = server_request.bytes, .admitted = now, .continues = continues}};
}

void ServerGate::on_disk(ServerRequest const& server_request, Time now) {
    auto const program = server_request.program.empty() ? files_.user_of(server_request.file)
                                                        : server_request.program;
    locality_[server_request.server].on_disk(program, server_request.address, now,
                                             slice_scheduler_.grant(program));
}

void ServerGate::finished(AdmissionToken const& token, Time now) {
    locality_[token.server].finished(token.program, token.done, now,
                                     slice_scheduler_.grant(token.program));
    slice_scheduler_.finished(token.program, now);
}

// ---- reports
// -------------------------------------------------------------------------------------

void ServerGate::reset() {
    locality_.assign(locality_.size(), Locality{});
    files_ = {};
    programs_.clear();
    slice_scheduler_.clear_demands();
}

void ServerGate::forget_idle(Time now) {
    auto const idle_max = programs_.size() > programs_max ? Time{0} : forgotten_after;
    std::erase_if(programs_, [&](auto const& entry) {
        auto const* const demand = slice_scheduler_.demand(entry.first);
        if (demand == nullptr || demand->held + demand->under_way > 0 ||
            now - demand->last < idle_max)
            return false;
        slice_scheduler_.forget(entry.first);
        files_.forget(entry.first);
        for (auto& server : locality_) server.forget(entry.first);
        return true;
    });
}

ProgramReport ServerGate::report_of(std::string const& program, Time now) const {
    auto const& phases = programs_.at(program);
    ProgramReport report{.id = program,
                         .characteristic_s = phases.characteristic_s(),
                         .phase_began_ms = to_ms(phases.began())};
    if (auto const* const demand = slice_scheduler_.demand(program)) {
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

Report ServerGate::report(Time now) {
    forget_idle(now);
    Report report{.now_ms = to_ms(now),
                  .epoch = static_cast<double>(slice_scheduler_.epoch()),
                  .open = slice_scheduler_.is_open(),
                  .capacity_bytes = capacity_bytes_};
    for (auto const& server : locality_) {
        report.gap_sectors.push_back(server.gap_sectors().as_written());
        report.gap_sectors_linux.push_back(server.gap_sectors().as_linux());
        report.pool_reuse_ms.push_back(server.pool_reuse_ms().as_written());
        report.pool_reuse_ms_linux.push_back(server.pool_reuse_ms().as_linux());
        report.pool_reuse_samples.push_back(samples_of(server.pool_reuse_ms()));
    }
    for (auto const& [program, phases] : programs_)
        report.programs.push_back(report_of(program, now));
    return report;
}

}  // namespace unisono::orchestra
