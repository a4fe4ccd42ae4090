#include "coordinate/gate/agent.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "coordinate/gate/client.hpp"
#include "coordinate/gate/place.hpp"

namespace unisono::coordinate {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string const& path, char const* what = nullptr) {
    throw std::runtime_error(path + ": " + (what != nullptr ? what : std::strerror(errno)));
}

void make_folder(std::string const& path, mode_t mode) {
    if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) fail(path);
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) fail(path);
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) fail(path, "somebody else's");
    if (chmod(path.c_str(), mode) != 0) fail(path);  // whatever the umask is
}

int take_lock(std::string const& path) {
    int const fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) fail(path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        throw std::runtime_error("there is an agent already");
    }
    return fd;
}

bool is_seat(std::string const& name) { return name.starts_with("seat-"); }

NodeEvent::Kind kind_of(SeatEvent::Kind kind) {
    using Kind = NodeEvent::Kind;
    constexpr Kind kinds[] = {Kind::entered, Kind::held, Kind::released, Kind::finished};
    return kinds[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string make_gate_folder(std::string const& path, std::string const& runtime) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail(path);
    auto folder = gate_folder(status.st_dev, geteuid(), runtime);
    constexpr mode_t everybody = 01777;
    constexpr mode_t owner = 0700;
    make_folder(folder, geteuid() == 0 ? everybody : owner);
    make_folder(folder + "/own", owner);
    return folder;
}

Agent::Agent(std::string folder, double capacity_bytes)
    : folder_(std::move(folder)),
      lock_(take_lock(folder_ + "/own/agent.lock")),
      watch_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      page_(folder_, capacity_bytes) {
    // A seat gets its name when it is complete. Without a watch they are found a little later.
    if (watch_ >= 0) inotify_add_watch(watch_, folder_.c_str(), IN_MOVED_TO);
    look_at_seats();
    for (auto& [name, seat] : seats_) seat.reader->skip();
}

Agent::~Agent() {
    close(watch_);
    close(lock_);
}

// ---- seats
// ---------------------------------------------------------------------------------------

void Agent::look_at_seats() {
    char ignored[4096];
    while (read(watch_, ignored, sizeof ignored) > 0) {
    }
    std::error_code error;
    for (auto const& entry : fs::directory_iterator(folder_, error))
        if (auto const name = entry.path().filename().string(); is_seat(name)) take_seat(name);
    for (auto seat = seats_.begin(); seat != seats_.end();) {
        auto const next = std::next(seat);
        if (!seat->second.reader->alive()) drop_seat(seat);
        seat = next;
    }
}

void Agent::take_seat(std::string const& name) {
    if (seats_.size() >= seats_max || seats_.contains(name)) return;
    auto reader = SeatReader::open(folder_ + '/' + name);
    if (reader == nullptr) return;
    news_.push_back(
        {.kind = NodeEvent::Kind::taken, .seat = next_number_, .program = reader->program()});
    seats_[name] = {next_number_++, std::move(reader)};
}

void Agent::drop_seat(std::map<std::string, Known>::iterator seat) {
    news_.push_back({.kind = NodeEvent::Kind::left, .seat = seat->second.number});
    unlink((folder_ + '/' + seat->first).c_str());
    seats_.erase(seat);
}

std::size_t Agent::programs() const {
    std::set<std::string_view> programs;
    for (auto const& [name, seat] : seats_) programs.insert(seat.reader->program());
    return programs.size();
}

void Agent::introduce_all() {
    news_.clear();
    for (auto const& [name, seat] : seats_)
        news_.push_back({.kind = NodeEvent::Kind::taken,
                         .seat = seat.number,
                         .program = seat.reader->program()});
}

std::vector<NodeEvent> Agent::collect() {
    std::vector<NodeEvent> said;
    std::vector<SeatEvent> events;
    auto const now = monotonic_now();
    for (auto seat = seats_.begin(); seat != seats_.end();) {
        auto const next = std::next(seat);
        events.clear();
        bool const whole = seat->second.reader->take(events);
        for (auto const& event : events)
            said.push_back({.kind = kind_of(event.kind),
                            .seat = seat->second.number,
                            .ticket = event.ticket,
                            .age = now - std::clamp(event.time, Time{0}, now),
                            .place = event.place,
                            .file = event.file});
        if (!whole) drop_seat(seat);
        seat = next;
    }
    std::ranges::stable_sort(said, std::greater{}, &NodeEvent::age);
    // A seat is known before it says anything, and is left after that.
    auto const gone = std::stable_partition(news_.begin(), news_.end(), [](auto const& event) {
        return event.kind == NodeEvent::Kind::taken;
    });
    std::vector<NodeEvent> all(news_.begin(), gone);
    all.insert(all.end(), said.begin(), said.end());
    all.insert(all.end(), gone, news_.end());
    news_.clear();
    return all;
}

// ---- the page
// ------------------------------------------------------------------------------------

void Agent::tell(Turnover const& turn) {
    Admission admission{.kind = turn.admitted.kind, .lease_end = monotonic_now() + turn.lease};
    for (auto const& program : turn.admitted.programs)
        admission.programs.push_back(program_number(program));
    page_.tell(admission);
}

void Agent::retire() {
    page_.retire();
    unlink(page_path(folder_).c_str());
    for (auto const& [name, seat] : seats_) unlink((folder_ + '/' + name).c_str());
}

}  // namespace unisono::coordinate
