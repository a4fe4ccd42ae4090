#include "coordinate/gate/seat.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace unisono::coordinate {

namespace {

// When a process began, in ticks since the machine did; 0 if there is none, or only its remains.
std::uint64_t process_began(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string const text(std::istreambuf_iterator<char>(file), {});
    auto const close = text.rfind(')');
    if (close == std::string::npos) return 0;
    std::istringstream rest(text.substr(close + 1));
    std::string word;
    rest >> word;  // field 3, its state
    if (word == "Z" || word == "X") return 0;
    constexpr int fields_between = 18;
    for (int i = 0; i < fields_between; ++i) rest >> word;
    std::uint64_t began = 0;
    rest >> began;
    return began;
}

}  // namespace

std::string_view name_of(LocalityKind kind) {
    constexpr std::array<std::string_view, 4> names{"none", "fiemap", "layout", "offsets"};
    return names[static_cast<std::size_t>(kind)];
}

// ---- the process
// ---------------------------------------------------------------------------------

std::unique_ptr<Seat> Seat::take(std::string const& folder, std::string_view program) {
    static std::atomic<unsigned> counter = 0;
    auto const name = std::to_string(getpid()) + '-' + std::to_string(counter++);
    auto const path = folder + "/seat-" + name;
    auto const unfinished = folder + "/new-" + name;
    unlink(unfinished.c_str());  // of a process that had the same number
    int const fd =
        open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return nullptr;
    SharedFile<SeatMemory> memory;
    if (posix_fallocate(fd, 0, sizeof(SeatMemory)) == 0) memory = SharedFile<SeatMemory>(fd, true);
    close(fd);
    if (memory) {
        program.copy(memory->program.data(), memory->program.size() - 1);
        memory->process = getpid();
        memory->process_began = process_began(getpid());
        memory->version = SeatMemory::right_version;
    }
    // The agent hears of it now, and finds a whole one.
    if (!memory || rename(unfinished.c_str(), path.c_str()) != 0) {
        unlink(unfinished.c_str());
        return nullptr;
    }
    return std::unique_ptr<Seat>(new Seat(std::move(memory), path));
}

Seat::~Seat() {
    memory_->left = 1;
    unlink(path_.c_str());
}

bool Seat::has_room(std::uint64_t events) const {
    auto const used = memory_->written.load(std::memory_order_relaxed) -
                      memory_->taken.load(std::memory_order_acquire);
    return used + owed_ + events <= SeatMemory::events_max;
}

void Seat::write(SeatEvent const& event) {
    auto const written = memory_->written.load(std::memory_order_relaxed);
    memory_->events[written % SeatMemory::events_max] = event;
    memory_->written.store(written + 1, std::memory_order_release);
}

void Seat::write_all(SeatEvent::Kind kind, std::uint32_t first_ticket, std::uint32_t count,
                     Time now) {
    std::lock_guard const lock(mutex_);
    owed_ -= count;
    for (std::uint32_t i = 0; i < count; ++i)
        write({.kind = kind, .ticket = first_ticket + i, .time = now});
}

std::uint32_t Seat::arrived(bool held, std::span<AccessPlace const> places, std::uint64_t file,
                            Time now) {
    std::lock_guard const lock(mutex_);
    std::uint64_t const to_follow = places.size() * (held ? 2 : 1);
    if (places.empty() || !has_room(places.size() + to_follow)) {
        memory_->lost.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    auto const count = static_cast<std::uint32_t>(places.size());
    if (next_ticket_ + count < next_ticket_) next_ticket_ = 1;
    auto const first = next_ticket_;
    for (auto const& place : places)
        write({.kind = held ? SeatEvent::Kind::held : SeatEvent::Kind::entered,
               .ticket = next_ticket_++,
               .time = now,
               .place = place,
               .file = file});
    owed_ += to_follow;
    return first;
}

void Seat::released(std::uint32_t first_ticket, std::uint32_t count, Time now) {
    write_all(SeatEvent::Kind::released, first_ticket, count, now);
}

void Seat::finished(std::uint32_t first_ticket, std::uint32_t count, Time now) {
    write_all(SeatEvent::Kind::finished, first_ticket, count, now);
}

// ---- the agent
// -----------------------------------------------------------------------------------

namespace {

template <class Value>
bool read_at(int descriptor, std::size_t offset, Value& value) {
    return pread(descriptor, static_cast<void*>(&value), sizeof value,
                 static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof value);
}

template <class Value>
bool read_member(int descriptor, Value SeatMemory::*, std::size_t offset, auto& value) {
    static_assert(sizeof(Value) == sizeof value);
    return read_at(descriptor, offset, value);
}

#define UNISONO_READ(member, value) \
    read_member(descriptor_, &SeatMemory::member, offsetof(SeatMemory, member), value)

}  // namespace

std::unique_ptr<SeatReader> SeatReader::open(std::string const& path) {
    int const fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return nullptr;
    struct stat status {};
    bool const right =
        fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == sizeof(SeatMemory);
    std::unique_ptr<SeatReader> reader(new SeatReader(fd, status.st_uid));
    if (!right || !reader->read_head()) return nullptr;
    return reader;
}

SeatReader::~SeatReader() { close(descriptor_); }

bool SeatReader::read_head() {
    std::uint64_t version = 0;
    std::array<char, program_id_length_max + 1> program{};
    if (!UNISONO_READ(version, version) || version != SeatMemory::right_version ||
        !UNISONO_READ(program, program) || !UNISONO_READ(process, process_) ||
        !UNISONO_READ(process_began, process_began_) || !UNISONO_READ(taken, taken_))
        return false;
    program.back() = '\0';
    program_ = program.data();
    return is_program_id(program_);
}

bool SeatReader::alive() const {
    std::uint32_t left = 1;
    return UNISONO_READ(left, left) && left == 0 && process_began(process_) == process_began_;
}

std::uint64_t SeatReader::lost() const {
    std::uint64_t lost = 0;
    UNISONO_READ(lost, lost);
    return lost;
}

bool SeatReader::take(std::vector<SeatEvent>& events) {
    std::uint64_t written = 0;
    if (!UNISONO_READ(written, written)) return false;
    if (written == taken_) return true;
    if (written - taken_ > SeatMemory::events_max) return false;
    std::array<SeatEvent, SeatMemory::events_max> ring;
    if (!UNISONO_READ(events, ring)) return false;
    for (; taken_ != written; ++taken_) {
        auto const& event = ring[taken_ % SeatMemory::events_max];
        if (event.kind <= SeatEvent::Kind::finished && event.place.kind <= LocalityKind::offsets &&
            event.place.server < servers_max)
            events.push_back(event);
    }
    return pwrite(descriptor_, &taken_, sizeof taken_, offsetof(SeatMemory, taken)) ==
           static_cast<ssize_t>(sizeof taken_);
}

void SeatReader::skip() {
    std::vector<SeatEvent> forgotten;
    take(forgotten);
}

}  // namespace unisono::coordinate
