#include "orchestra/locality.hpp"

#include <algorithm>

namespace unisono::orchestra {

namespace {

constexpr std::uint64_t sector_bytes = 512;

// When nothing was under way for so long, nobody wanted anything: no request's fault.
constexpr Time pause_min = 250 * millisecond;

// Flash and memory are quicker than this, whatever they are asked for; a head that has to move and
// half a turn of the disk are not.
constexpr double slow_min_ms = 2;
constexpr double flash_bytes_per_ms = 200e3;
// Zones, and what is in a cache already, make transfers differ by so much.
constexpr double transfer_slack = 1.5;

double distance(std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a > b ? a - b : b - a);
}

void add_gap(PapersMean& mean, std::optional<std::uint64_t>& last, std::uint64_t sector) {
    if (last) mean.add(distance(sector, *last));
    last = sector;
}

}  // namespace

Locality::Entry& Locality::entry(std::string_view program) {
    auto const found = programs_.find(program);
    return found != programs_.end() ? found->second : programs_[std::string(program)];
}

ProgramAtServer const* Locality::find(std::string_view program) const {
    auto const found = programs_.find(program);
    return found == programs_.end() ? nullptr : &found->second.numbers;
}

void Locality::forget(std::string_view program) {
    auto const found = programs_.find(program);
    if (found != programs_.end()) programs_.erase(found);
}

bool Locality::admitted(std::string_view program, std::optional<std::uint64_t> address,
                        std::uint64_t bytes, Time now) {
    auto& its = entry(program).numbers;
    ++its.requests;
    its.bytes += bytes;
    if (!first_since_) first_since_ = now;
    bool const continues = address && last_end_ == address;
    if (address) last_end_ = *address + bytes;
    return continues;
}

void Locality::on_disk(std::string_view program, std::optional<std::uint64_t> address, Time now,
                       Grant const& grant) {
    if (address) add_gap(gap_sectors_, last_sector_, *address / sector_bytes);
    if (program.empty()) return;
    auto& its = entry(program);
    if (address) add_gap(its.numbers.gap_sectors, its.last_sector, *address / sector_bytes);
    measure_reuse(its, now, grant);
    its.last_on_disk = now;
}

// Only between two requests of one turn: else it would be the time that others had.
void Locality::measure_reuse(Entry& its, Time now, Grant const& grant) {
    if (grant.turn == Turn::own && its.last_on_disk && *its.last_on_disk >= grant.since)
        its.numbers.reuse_ms.add(to_ms(now - *its.last_on_disk));
    if (grant.turn != Turn::pool) return;
    if (last_of_pool_ && *last_of_pool_ >= grant.since)
        pool_reuse_ms_.add(to_ms(now - *last_of_pool_));
    last_of_pool_ = now;
}

void Locality::finished(std::string_view program, Done const& done, Time now, Grant const& grant) {
    // The first one of a turn has the end of the turn before in it, and a flush, which has no bytes
    // of its own, all that was written before.
    if (done.bytes > 0 && last_finished_ && *last_finished_ >= grant.since &&
        pause_before(done) < pause_min) {
        auto& its = entry(program).numbers;
        if (grant.turn == Turn::everyone) measure_open(its, done, now);
        if (grant.turn == Turn::own) its.dedicated_ms.add(to_ms(now - *last_finished_));
    }
    last_finished_ = now;
    first_since_.reset();
}

// How long nothing was under way since something was done last, as far as this request and those
// that have come since tell.
Time Locality::pause_before(Done const& done) const {
    if (done.admitted <= *last_finished_) return 0;
    return first_since_.value_or(done.admitted) - *last_finished_;
}

void Locality::measure_open(ProgramAtServer& its, Done const& done, Time now) {
    its.open_ms.add(to_ms(now - *last_finished_));
    auto const service_ms = to_ms(now - std::max(done.admitted, *last_finished_));
    auto const bytes = static_cast<double>(done.bytes);
    if (done.continues) transfer_ms_per_byte_.add(service_ms / bytes);
    // What is read in order shows what a transfer takes, where that is more than flash needs.
    auto const transfer_ms =
        bytes * std::max(1 / flash_bytes_per_ms, transfer_slack * transfer_ms_per_byte_.value());
    bool const slow = service_ms > slow_min_ms + transfer_ms;
    its.slow_share.add(slow ? 1 : 0);
    if (slow) its.slow_ms.add(service_ms);
}

}  // namespace unisono::orchestra
