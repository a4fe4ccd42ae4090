#include "orchestra/slice_scheduler.hpp"

#include <algorithm>

namespace unisono::orchestra {

namespace {

constexpr std::size_t history_max = 1 << 16;

}  // namespace

// ---- the schedule
// --------------------------------------------------------------------------------

bool SliceScheduler::adopt(Schedule schedule, Time now) {
    if (schedule.epoch <= epoch_) return false;
    epoch_ = schedule.epoch;
    if (schedule.objects.empty()) {
        open(now);
        return true;
    }
    auto const turn = is_open() ? std::string() : label(current_);
    auto const begin = turn_begin_;
    schedule_ = std::move(schedule);
    lease_end_ = now + schedule_.lease;
    index_objects();
    for (std::size_t object = 0; object < schedule_.objects.size(); ++object)
        if (label(object) == turn) {
            current_ = object;
            turn_end_ = begin + schedule_.objects[object].slice;
            return true;
        }
    if (!turn.empty()) history_.push_back({begin, now, turn});
    begin_turn(0, now);
    return true;
}

void SliceScheduler::index_objects() {
    objects_.clear();
    pool_.reset();
    for (std::size_t object = 0; object < schedule_.objects.size(); ++object) {
        if (schedule_.objects[object].programs.empty()) pool_ = object;
        for (auto const& program : schedule_.objects[object].programs) objects_[program] = object;
    }
}

std::string SliceScheduler::label(std::size_t object) const {
    std::string text;
    for (auto const& program : schedule_.objects[object].programs)
        text += (text.empty() ? "" : " ") + program;
    return text.empty() ? "pool" : text;
}

void SliceScheduler::open(Time now) {
    if (is_open()) return;
    end_turn(now);
    schedule_.objects.clear();
    objects_.clear();
    pool_.reset();
    turn_begin_ = now;
    lease_end_ = turn_end_ = never;
}

void SliceScheduler::end_turn(Time now) {
    if (history_.size() >= history_max)
        history_.erase(history_.begin(), history_.begin() + history_max / 2);
    history_.push_back({turn_begin_, now, label(current_)});
}

void SliceScheduler::begin_turn(std::size_t object, Time now) {
    current_ = object;
    turn_begin_ = now;
    turn_end_ = now + schedule_.objects[object].slice;
}

// ---- who may pass
// --------------------------------------------------------------------------------

SliceScheduler::Index SliceScheduler::object_of(std::string_view program) const {
    auto const found = objects_.find(program);
    return found != objects_.end() ? Index{found->second} : pool_;
}

bool SliceScheduler::admits(std::string_view program) const {
    if (is_open()) return true;
    auto const object = object_of(program);
    return !object || *object == current_;
}

Grant SliceScheduler::grant(std::string_view program) const {
    if (is_open()) return {Turn::everyone, turn_begin_};
    auto const object = object_of(program);
    if (!object || *object != current_) return {Turn::other, turn_begin_};
    return {object == pool_ ? Turn::pool : Turn::own, turn_begin_};
}

// Who is named nowhere passes with the pool, or at any time if there is none.
Admitted SliceScheduler::admitted() const {
    if (is_open()) return {};
    Admitted admitted{pool_ && *pool_ != current_ ? Admitted::Kind::only : Admitted::Kind::all_but,
                      {}};
    for (auto const& [program, object] : objects_)
        if ((object == current_) == (admitted.kind == Admitted::Kind::only))
            admitted.programs.push_back(program);
    return admitted;
}

// ---- who wants to
// --------------------------------------------------------------------------------

void SliceScheduler::arrived(std::string_view program, bool held, Time now) {
    auto found = demands_.find(program);
    if (found == demands_.end()) found = demands_.emplace(std::string(program), Demand{}).first;
    ++(held ? found->second.held : found->second.under_way);
    found->second.last = now;
}

void SliceScheduler::released(std::string_view program) {
    auto const found = demands_.find(program);
    if (found == demands_.end() || found->second.held == 0) return;
    --found->second.held;
    ++found->second.under_way;
}

void SliceScheduler::finished(std::string_view program, Time now) {
    auto const found = demands_.find(program);
    if (found == demands_.end() || found->second.under_way == 0) return;
    --found->second.under_way;
    found->second.last = now;
}

SliceScheduler::Demand const* SliceScheduler::demand(std::string_view program) const {
    auto const found = demands_.find(program);
    return found == demands_.end() ? nullptr : &found->second;
}

void SliceScheduler::forget(std::string_view program) {
    auto const found = demands_.find(program);
    if (found != demands_.end()) demands_.erase(found);
}

SliceScheduler::Demand SliceScheduler::demand_of(std::size_t object) const {
    Demand sum;
    for (auto const& [program, demand] : demands_) {
        if (object_of(program) != object) continue;
        sum.held += demand.held;
        sum.under_way += demand.under_way;
        sum.last = std::max(sum.last, demand.last);
    }
    return sum;
}

bool SliceScheduler::wants(std::size_t object) const {
    auto const demand = demand_of(object);
    return demand.held + demand.under_way > 0;
}

bool SliceScheduler::others_want() const {
    return std::ranges::any_of(demands_, [&](auto const& entry) {
        auto const& [program, demand] = entry;
        if (demand.held + demand.under_way == 0) return false;
        auto const object = object_of(program);
        return object && *object != current_;
    });
}

// ---- turns
// ---------------------------------------------------------------------------------------

// When the present turn ends early if nothing more comes; `never` if it does not. A stopped program
// does not take the turn that it waits for: it has as long as others need to hear of theirs.
Time SliceScheduler::idle_end() const {
    constexpr Time to_hear = 25 * millisecond;
    if (is_open() || !schedule_.work_conserving) return never;
    auto const demand = demand_of(current_);
    if (demand.under_way > 0 || !others_want()) return never;
    auto const patience = schedule_.objects[current_].patience;
    return std::max(demand.last, turn_begin_) +
           (demand.held > 0 ? std::max(patience, to_hear) : patience);
}

std::size_t SliceScheduler::next_object() const {
    auto const count = schedule_.objects.size();
    for (std::size_t step = 1; step < count; ++step) {
        auto const object = (current_ + step) % count;
        if (!schedule_.work_conserving || wants(object)) return object;
    }
    return current_;
}

bool SliceScheduler::advance(Time now) {
    if (is_open()) return false;
    if (now >= lease_end_) {
        open(now);
        return true;
    }
    if (now < turn_end_ && now < idle_end()) return false;
    auto const next = next_object();
    if (next == current_) {
        // Nobody else wants to: the turn goes on, and so does what was measured in it.
        turn_end_ = now + schedule_.objects[current_].slice;
        return false;
    }
    end_turn(now);
    begin_turn(next, now);
    return true;
}

Time SliceScheduler::next_event() const {
    return is_open() ? never : std::min({lease_end_, turn_end_, idle_end()});
}

}  // namespace unisono::orchestra
