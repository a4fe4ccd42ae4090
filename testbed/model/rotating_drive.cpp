#include "model/rotating_drive.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "model/solid_state_drive.hpp"

namespace unisono::testbed {

namespace {

// An angle that was missed by less is one that was hit, but for rounding.
constexpr double angle_tolerance_ns = 2000;

// The write cache is emptied in pieces, so that a read does not wait for long.
constexpr std::uint64_t destage_sectors = (1 << 20) / sector_bytes;

// How many runs of the write cache are compared in each direction of the head.
constexpr int destage_candidates = 32;

std::uint64_t to_sectors(double bytes) { return static_cast<std::uint64_t>(bytes) / sector_bytes; }

}  // namespace

RotatingDrive::RotatingDrive(DriveProfile const& profile)
    : profile_(profile),
      geometry_(profile),
      curve_(fit_seek_curve(profile.seek_track_ms, profile.seek_average_ms, profile.seek_full_ms)),
      segment_sectors_(to_sectors(profile.segment_bytes)),
      write_cache_sectors_(to_sectors(profile.write_cache_bytes)),
      segments_(std::max<std::size_t>(1, static_cast<std::size_t>(profile.segments))) {}

std::uint32_t RotatingDrive::free_slots() const {
    auto const used = queue_.size() + leaving_.size() + (active_ && !active_->destage ? 1 : 0);
    auto const depth = static_cast<std::size_t>(profile_.queue_depth);
    return used < depth ? static_cast<std::uint32_t>(depth - used) : 0;
}

void RotatingDrive::submit(Time now, Command const& command) {
    assert(free_slots() > 0);
    assert(command.operation == Operation::flush ||
           (command.sectors > 0 && command.end() <= geometry_.sectors()));
    ++counters_.commands;
    last_command_ = now;
    queue_.push_back({command, now});
    start_work(now);
}

Time RotatingDrive::next_event() const {
    Time next = leaving_.empty() ? never : leaving_.top().time;
    if (active_) return std::min(next, active_->end);
    return std::min(next, idle_destage_time());
}

void RotatingDrive::advance(Time until, std::vector<Finished>& finished) {
    for (Time next = next_event(); next <= until; next = next_event()) {
        if (!leaving_.empty() && leaving_.top().time == next) {
            finished.push_back(leaving_.top());
            leaving_.pop();
        } else if (active_) {
            if (!active_->destage) finished.push_back({active_->pending.command.id, next});
            end_access();
            start_work(next);
        } else {
            start_work(next);  // idle for long enough
        }
    }
}

void RotatingDrive::drop_caches(Time now) {
    stop_read_ahead(now);
    segments_.assign(segments_.size(), {});
    if (active_) active_->segment = none;
}

// ---- what needs no medium
// ------------------------------------------------------------------------

void RotatingDrive::start_work(Time now) {
    while (serve_one_without_medium(now)) {
    }
    if (active_) return;
    if (auto const access = choose(now)) begin_access(now, *access);
}

// False: there is none. Whoever leaves may be what somebody before it has waited for, as writes
// wait for a flush.
bool RotatingDrive::serve_one_without_medium(Time now) {
    auto const served = std::find_if(queue_.begin(), queue_.end(), [&](Pending const& pending) {
        return serve_without_medium(now, pending);
    });
    if (served == queue_.end()) return false;
    queue_.erase(served);
    return true;
}

bool RotatingDrive::serve_without_medium(Time now, Pending const& pending) {
    auto const& command = pending.command;
    switch (command.operation) {
        case Operation::read:
            return serve_read_from_segment(now, command);
        case Operation::write:
            return accept_write(now, command);
        default:
            if (!dirty_.empty() || (active_ && active_->access.write)) return false;
            leaving_.push({command.id, now + from_ms(profile_.overhead_ms)});
            return true;
    }
}

bool RotatingDrive::serve_read_from_segment(Time now, Command const& command) {
    if (!dirty_.contains(command.sector, command.end())) {
        auto const segment = segment_with(command.sector, now);
        if (segment == none || segment_end(segment, now) < command.end()) return false;
        segments_[segment].used = now;
        extend_read_ahead(now, segment, command.end());
    }
    ++counters_.cache_hits;
    finish_by_interface(now, command);
    return true;
}

void RotatingDrive::finish_by_interface(Time now, Command const& command) {
    interface_free_ = std::max(now + from_ms(profile_.overhead_ms), interface_free_) +
                      transfer_time(command.sectors * sector_bytes, profile_.interface_mb_s);
    leaving_.push({command.id, interface_free_});
}

bool RotatingDrive::accept_write(Time now, Command const& command) {
    if (write_cache_sectors_ == 0 || flush_waits()) return false;
    auto const in_flight =
        active_ && active_->destage ? active_->access.end - active_->access.begin : 0;
    bool const fits = dirty_.sectors() + in_flight + command.sectors <= write_cache_sectors_;
    if (!fits && (!dirty_.empty() || in_flight > 0)) return false;
    invalidate(now, command.sector, command.end());
    dirty_.add(command.sector, command.end());
    finish_by_interface(now, command);
    return true;
}

void RotatingDrive::invalidate(Time now, std::uint64_t begin, std::uint64_t end) {
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        bool const read_into = read_ahead_ && read_ahead_->segment == i;
        auto const segment_last = read_into ? read_ahead_->limit : segments_[i].end;
        if (begin >= segment_last || end <= segments_[i].begin) continue;
        if (read_into) {
            stop_read_ahead(now);
        }
        segments_[i] = {};
    }
}

bool RotatingDrive::flush_waits() const {
    return std::any_of(queue_.begin(), queue_.end(), [](Pending const& pending) {
        return pending.command.operation == Operation::flush;
    });
}

// ---- segments and read-ahead
// ---------------------------------------------------------------------

std::uint64_t RotatingDrive::frontier(double now_ns) const {
    if (now_ns <= read_ahead_->start_ns) return read_ahead_->from;
    auto const from_ns = geometry_.locate(read_ahead_->from).stream_ns;
    return std::clamp(geometry_.sector_at(from_ns + now_ns - read_ahead_->start_ns),
                      read_ahead_->from, read_ahead_->limit);
}

std::uint64_t RotatingDrive::segment_end(std::size_t segment, Time now) const {
    if (read_ahead_ && read_ahead_->segment == segment) return frontier(static_cast<double>(now));
    return segments_[segment].end;
}

std::size_t RotatingDrive::segment_with(std::uint64_t sector, Time now) const {
    if (segment_sectors_ == 0) return none;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        if (segments_[i].used < 0) continue;
        auto const end = segment_end(i, now);
        auto const begin =
            std::max(segments_[i].begin, end > segment_sectors_ ? end - segment_sectors_ : 0);
        bool const joins = profile_.join_read_ahead > 0 && read_ahead_ && read_ahead_->segment == i;
        auto const reach = joins ? read_ahead_->limit : end;
        if (sector >= begin && sector <= reach) return i;
    }
    return none;
}

std::size_t RotatingDrive::oldest_segment() const {
    auto const oldest =
        std::min_element(segments_.begin(), segments_.end(),
                         [](Segment const& a, Segment const& b) { return a.used < b.used; });
    return static_cast<std::size_t>(oldest - segments_.begin());
}

void RotatingDrive::start_read_ahead(std::size_t segment, double now_ns) {
    auto const from = segments_[segment].end;
    auto const limit = std::min(from + segment_sectors_, geometry_.sectors());
    if (from >= limit) return;
    // After the last sector of a track comes the switch.
    double const switch_ns = geometry_.locate(from).stream_ns - stream_end_ns(from);
    read_ahead_ = ReadAhead{segment, from, limit, now_ns + switch_ns};
}

// The head reads on for as much as was taken out.
void RotatingDrive::extend_read_ahead(Time now, std::size_t segment, std::uint64_t taken_end) {
    if (!read_ahead_ || read_ahead_->segment != segment) return;
    auto const limit = std::min(taken_end + segment_sectors_, geometry_.sectors());
    if (limit <= read_ahead_->limit) return;
    auto const now_ns = static_cast<double>(now);
    if (frontier(now_ns) == read_ahead_->limit) {
        read_ahead_->from = read_ahead_->limit;
        auto const angle_ns = geometry_.locate(read_ahead_->from).stream_ns;
        read_ahead_->start_ns = now_ns + rotation_wait_ns(now_ns, angle_ns);
    }
    read_ahead_->limit = limit;
}

void RotatingDrive::stop_read_ahead(Time now) {
    if (!read_ahead_) return;
    head_ = head_at(now);
    segments_[read_ahead_->segment].end = frontier(static_cast<double>(now));
    read_ahead_.reset();
}

RotatingDrive::HeadPlace RotatingDrive::place_of(std::uint64_t sector) const {
    auto const position = geometry_.locate(sector);
    return {position.cylinder, position.surface, sector};
}

RotatingDrive::HeadPlace RotatingDrive::head_at(Time now) const {
    if (!read_ahead_) return head_;
    auto const sector = frontier(static_cast<double>(now));
    // A full segment leaves the head on the track of its last sector.
    return place_of(sector == read_ahead_->limit ? sector - 1 : sector);
}

// ---- the medium
// ----------------------------------------------------------------------------------

double RotatingDrive::rotation_wait_ns(double from_ns, double angle_ns) const {
    double const revolution_ns = geometry_.revolution_ns();
    double wait_ns = std::fmod(angle_ns - from_ns, revolution_ns);
    if (wait_ns < 0) wait_ns += revolution_ns;
    return revolution_ns - wait_ns < angle_tolerance_ns ? 0 : wait_ns;
}

// When an endless sequential read would have read the sector before `end`.
double RotatingDrive::stream_end_ns(std::uint64_t end) const {
    return geometry_.locate(end - 1).stream_ns +
           geometry_.revolution_ns() / geometry_.sectors_per_track(end - 1);
}

RotatingDrive::Access RotatingDrive::plan(double ready_ns, std::uint64_t begin, std::uint64_t end,
                                          bool write, HeadPlace head) const {
    auto const first = geometry_.locate(begin);
    double move_ms = 0;
    if (first.cylinder != head.cylinder) {
        auto const distance = first.cylinder > head.cylinder ? first.cylinder - head.cylinder
                                                             : head.cylinder - first.cylinder;
        move_ms = curve_.at_ms(static_cast<double>(distance) /
                               static_cast<double>(geometry_.cylinders()));
    } else if (first.surface != head.surface) {
        move_ms = profile_.head_switch_ms;
    }
    if (write && move_ms > 0) move_ms += profile_.write_settle_ms;
    double const there_ns = ready_ns + move_ms * 1e6;
    Access access{.begin = begin, .end = end, .write = write};
    access.begin_ns = there_ns + rotation_wait_ns(there_ns, first.stream_ns);
    access.end_ns = access.begin_ns + stream_end_ns(end) - first.stream_ns;
    access.target = {first.cylinder, first.surface, begin};
    return access;
}

RotatingDrive::Access RotatingDrive::plan_read(Time now, std::size_t queue_index,
                                               HeadPlace head) const {
    auto const& command = queue_[queue_index].command;
    auto const segment = segment_with(command.sector, now);
    auto const missing = segment == none ? command.sector : segment_end(segment, now);
    auto const now_ns = static_cast<double>(now);
    Access access;
    if (segment != none && read_ahead_ && read_ahead_->segment == segment &&
        missing < read_ahead_->limit) {
        // The head is on its way there: it only has to pass the end.
        auto const from_ns = geometry_.locate(read_ahead_->from).stream_ns;
        access = {.begin = missing, .end = command.end(), .begin_ns = now_ns, .continues = true};
        access.end_ns = read_ahead_->start_ns + stream_end_ns(command.end()) - from_ns;
        access.target = head;
    } else {
        access = plan(now_ns + profile_.overhead_ms * 1e6, missing, command.end(), false, head);
    }
    access.queue_index = queue_index;
    return access;
}

bool RotatingDrive::must_destage(Time now) const {
    if (dirty_.empty()) return false;
    bool const awaited = std::any_of(queue_.begin(), queue_.end(), [](Pending const& pending) {
        return pending.command.operation != Operation::read;
    });
    bool const crowded = 2 * dirty_.sectors() > write_cache_sectors_;
    return awaited || crowded ||
           (queue_.empty() && now >= last_command_ + from_ms(profile_.destage_idle_ms));
}

Time RotatingDrive::idle_destage_time() const {
    if (dirty_.empty()) return never;
    return last_command_ + from_ms(profile_.destage_idle_ms);
}

std::optional<RotatingDrive::Access> RotatingDrive::nearest_destage(Time now,
                                                                    HeadPlace head) const {
    auto const& runs = dirty_.runs();
    std::optional<Access> best;
    auto const consider = [&](std::pair<std::uint64_t const, std::uint64_t> const& run) {
        auto const end = std::min(run.second, run.first + destage_sectors);
        auto const access = plan(static_cast<double>(now), run.first, end, true, head);
        if (!best || access.begin_ns < best->begin_ns) best = access;
    };
    auto const middle = runs.lower_bound(head.sector);
    auto above = middle;
    for (int i = 0; i < destage_candidates && above != runs.end(); ++i) consider(*above++);
    auto below = middle;
    for (int i = 0; i < destage_candidates && below != runs.begin(); ++i) consider(*--below);
    return best;
}

std::optional<RotatingDrive::Access> RotatingDrive::choose(Time now) const {
    auto const head = head_at(now);
    auto const destage = must_destage(now) ? nearest_destage(now, head) : std::nullopt;
    std::optional<Access> best = destage;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        auto const& command = queue_[i].command;
        std::optional<Access> access;
        if (command.operation == Operation::read) {
            access = plan_read(now, i, head);
        } else if (command.operation == Operation::write && write_cache_sectors_ == 0) {
            access = plan(static_cast<double>(now) + profile_.overhead_ms * 1e6, command.sector,
                          command.end(), true, head);
            access->queue_index = i;
        }
        bool const old = now - queue_[i].arrived > from_ms(profile_.command_age_ms);
        if (i == 0 && old) return access ? access : destage;  // the oldest has waited enough
        if (access && (!best || access->begin_ns < best->begin_ns)) best = access;
    }
    return best;
}

void RotatingDrive::begin_access(Time now, Access const& access) {
    ++counters_.media_accesses;
    auto const head = head_at(now);
    if (access.target.cylinder != head.cylinder) {
        ++counters_.seeks;
        counters_.seek_cylinders += access.target.cylinder > head.cylinder
                                        ? access.target.cylinder - head.cylinder
                                        : head.cylinder - access.target.cylinder;
    }
    counters_.positioning_ns +=
        static_cast<std::uint64_t>(std::max(0.0, access.begin_ns - static_cast<double>(now)));

    Active active{.access = access, .destage = access.queue_index == none};
    active.end = std::max(now, from_ns(access.end_ns));
    if (active.destage) {
        dirty_.remove(access.begin, access.end);
    } else {
        active.pending = queue_[access.queue_index];
        queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(access.queue_index));
        auto const& command = active.pending.command;
        if (access.continues) {
            active.end = std::max(active.end, now + from_ms(profile_.overhead_ms));
        }
        if (!access.write) active.segment = segment_with(command.sector, now);
    }
    stop_read_ahead(now);
    if (!access.write && segment_sectors_ > 0) {
        if (active.segment == none) {
            active.segment = oldest_segment();
            segments_[active.segment] = {access.begin, access.begin, now};
        }
        segments_[active.segment].used = now;
    }
    if (access.write && !active.destage) invalidate(now, access.begin, access.end);
    active_ = active;
}

void RotatingDrive::end_access() {
    auto const& access = active_->access;
    head_ = place_of(access.end - 1);
    if (active_->segment != none) {
        segments_[active_->segment].end = access.end;
        start_read_ahead(active_->segment, access.end_ns);
    }
    active_.reset();
}

std::unique_ptr<Drive> make_drive(DriveProfile const& profile) {
    if (profile.kind == "rotating") return std::make_unique<RotatingDrive>(profile);
    return std::make_unique<SolidStateDrive>(profile);
}

}  // namespace unisono::testbed
