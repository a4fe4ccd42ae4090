#include "orchestra/gate/node_daemon.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "orchestra/gate/client.hpp"
#include "orchestra/gate/gate_paths.hpp"
#include "support/has_name.hpp"

namespace unisono::orchestra {

namespace {

namespace fs = std::filesystem;

void make_folder(std::string const& path, mode_t mode) {
    if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) fail_at(path);
    if (!is_folder_of(geteuid(), path)) fail_at(path, "somebody else's");
    if (chmod(path.c_str(), mode) != 0) fail_at(path);  // whatever the umask is
}

int take_lock(std::string const& path) {
    int const fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) fail_at(path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        throw std::runtime_error("there is a node daemon already");
    }
    return fd;
}

bool is_slot(std::string const& name) { return name.starts_with("slot-"); }

NodeEvent::Kind kind_of(SlotEvent::Kind kind) {
    using Kind = NodeEvent::Kind;
    constexpr Kind kinds[] = {Kind::entered, Kind::held, Kind::released, Kind::finished};
    return kinds[static_cast<std::size_t>(kind)];
}

}  // namespace

GatePaths make_gate_paths(std::string const& path, std::string const& runtime) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail_at(path);
    auto paths = gate_paths(status.st_dev, geteuid(), runtime);
    bool const is_for_all = geteuid() == 0;
    make_folder(paths.folder, is_for_all ? 0755 : 0700);
    make_folder(paths.folder + "/own", 0700);
    make_folder(paths.slots, is_for_all ? 01777 : 0700);
    return paths;
}

NodeDaemon::NodeDaemon(GatePaths paths, double capacity_bytes)
    : paths_(std::move(paths)),
      lock_(take_lock(paths_.folder + "/own/node_daemon.lock")),
      watch_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      page_(paths_.folder, capacity_bytes) {
    // A slot gets its name when it is complete.
    if (inotify_add_watch(watch_, paths_.slots.c_str(), IN_MOVED_TO) < 0) do_without_watch();
    take_all_slots();
    for (auto& [name, slot] : slots_) slot.reader->skip();
}

NodeDaemon::~NodeDaemon() {
    close(watch_);
    close(lock_);
}

bool NodeDaemon::is_in_charge() const { return has_name(lock_); }

// ---- slots

// Slots are found a little later then.
void NodeDaemon::do_without_watch() {
    close(watch_);
    watch_ = -1;
}

// By name: in a folder where everybody may make files, who looks at all of them is kept busy.
void NodeDaemon::take_new_slots() {
    if (!is_in_charge()) return;
    bool is_watched = watch_ >= 0;
    bool told_of_all = is_watched;
    alignas(inotify_event) char told[4096];
    for (ssize_t length = 0; (length = read(watch_, told, sizeof told)) > 0;)
        for (auto const* at = told; at < told + length;) {
            auto const& event = *reinterpret_cast<inotify_event const*>(at);
            if ((event.mask & IN_IGNORED) != 0) is_watched = false;  // another folder by now
            if ((event.mask & IN_Q_OVERFLOW) != 0) told_of_all = false;
            if (event.len > 0 && is_slot(event.name)) take_slot(event.name);
            at += sizeof event + event.len;
        }
    if (!is_watched) do_without_watch();
    if (!told_of_all || !is_watched) take_all_slots();
}

void NodeDaemon::take_all_slots() {
    std::error_code error;
    for (auto const& entry : fs::directory_iterator(paths_.slots, error))
        if (auto const name = entry.path().filename().string(); is_slot(name)) take_slot(name);
}

void NodeDaemon::look_at_slots() {
    take_new_slots();
    if (!is_in_charge()) return;
    for (auto slot = slots_.begin(); slot != slots_.end();) {
        auto const next = std::next(slot);
        if (!slot->second.reader->alive()) drop_slot(slot);
        slot = next;
    }
}

void NodeDaemon::take_slot(std::string const& name) {
    if (slots_.contains(name)) return;
    auto const path = paths_.slots + '/' + name;
    auto reader = SlotReader::open(path);
    if (reader == nullptr || !has_room_for(*reader)) {
        unlink(path.c_str());  // its process sees that it is not heard
        return;
    }
    auto const program = program_id_at_gate(reader->program(), reader->owner(), geteuid());
    news_.push_back({.kind = NodeEvent::Kind::taken, .slot = next_number_, .program = program});
    slots_[name] = {next_number_++, program, std::move(reader)};
}

bool NodeDaemon::has_room_for(SlotReader const& slot) const {
    if (slots_.size() >= slots_max) return false;
    if (slot.owner() == geteuid()) return true;
    std::size_t slots = 0;
    std::set<std::string_view> programs{slot.program()};
    for (auto const& [name, known] : slots_) {
        if (known.reader->owner() != slot.owner()) continue;
        ++slots;
        programs.insert(known.reader->program());
    }
    return slots < slots_of_a_guest_max && programs.size() <= programs_of_a_guest_max;
}

// What was not told of yet need not be: while nothing can be told many may come and go.
void NodeDaemon::drop_slot(Slots::iterator slot) {
    auto const number = slot->second.number;
    auto const untold = std::erase_if(news_, [&](NodeEvent const& event) {
        return event.kind == NodeEvent::Kind::taken && event.slot == number;
    });
    if (untold == 0) news_.push_back({.kind = NodeEvent::Kind::left, .slot = number});
    unlink((paths_.slots + '/' + slot->first).c_str());
    slots_.erase(slot);
}

std::size_t NodeDaemon::programs() const {
    std::set<std::string_view> programs;
    for (auto const& [name, slot] : slots_) programs.insert(slot.program);
    return programs.size();
}

void NodeDaemon::introduce_all() {
    news_.clear();
    for (auto const& [name, slot] : slots_)
        news_.push_back(
            {.kind = NodeEvent::Kind::taken, .slot = slot.number, .program = slot.program});
}

void NodeDaemon::tell_who_waits() {
    for (auto const& [name, slot] : slots_)
        if (slot.reader->waits())
            news_.push_back({.kind = NodeEvent::Kind::waits, .slot = slot.number});
}

// ---- what they say

std::vector<NodeEvent> NodeDaemon::collect() {
    auto const said = take_said();
    // A slot is known before it says anything, and is left after that.
    auto const later = std::stable_partition(news_.begin(), news_.end(), [](auto const& event) {
        return event.kind == NodeEvent::Kind::taken;
    });
    std::vector<NodeEvent> all(news_.begin(), later);
    all.insert(all.end(), said.begin(), said.end());
    all.insert(all.end(), later, news_.end());
    news_.clear();
    return all;
}

std::vector<NodeEvent> NodeDaemon::take_said() {
    std::vector<NodeEvent> said;
    std::vector<SlotEvent> events;
    std::map<uid_t, std::size_t> by_owner;
    auto const most = events_of_an_owner_max();
    auto const now = monotonic_now();
    auto const slots = slots_in_turn();
    first_.clear();
    for (auto const slot : slots) {
        auto& of_owner = by_owner[slot->second.reader->owner()];
        if (of_owner >= most || said.size() >= events_max) {
            if (first_.empty()) first_ = slot->first;
            continue;
        }
        events.clear();
        bool const whole = slot->second.reader->take(events);
        of_owner += events.size();
        for (auto const& event : events)
            said.push_back({.kind = kind_of(event.kind),
                            .slot = slot->second.number,
                            .token = event.token,
                            .age = now - std::clamp(event.time, Time{0}, now),
                            .disk_address = event.disk_address,
                            .file = event.file});
        if (!whole) drop_slot(slot);
    }
    std::ranges::stable_sort(said, std::greater{}, &NodeEvent::age);
    return said;
}

std::vector<NodeDaemon::Slots::iterator> NodeDaemon::slots_in_turn() {
    std::vector<Slots::iterator> slots;
    for (auto slot = slots_.lower_bound(first_); slot != slots_.end(); ++slot)
        slots.push_back(slot);
    for (auto slot = slots_.begin(); slots.size() < slots_.size(); ++slot) slots.push_back(slot);
    return slots;
}

std::size_t NodeDaemon::events_of_an_owner_max() const {
    std::set<uid_t> owners;
    for (auto const& [name, slot] : slots_) owners.insert(slot.reader->owner());
    return events_max / std::max<std::size_t>(owners.size(), 1);
}

// ---- the page

void NodeDaemon::tell(Turnover const& turn) {
    Admission admission{.kind = turn.admitted.kind, .lease_end = monotonic_now() + turn.lease};
    for (auto const& program : turn.admitted.programs)
        admission.programs.push_back(program_number(program));
    page_.tell(admission);
}

void NodeDaemon::retire() {
    page_.retire();
    if (!is_in_charge()) return;
    unlink(page_path(paths_.folder).c_str());
    for (auto const& [name, slot] : slots_) unlink((paths_.slots + '/' + name).c_str());
}

}  // namespace unisono::orchestra
