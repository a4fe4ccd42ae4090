#include "orchestra/gate/slot.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

#include "support/has_name.hpp"
#include "support/process_stat.hpp"

namespace unisono::orchestra {

namespace {

std::optional<ProcessStat> stat_of(int process) {
    return process_stat("/proc/" + std::to_string(process));
}

// When a process began, in ticks since the machine did; 0 if there is none, or only its remains.
std::uint64_t process_began(int process) {
    auto const stat = stat_of(process);
    return stat && stat->state != 'Z' && stat->state != 'X' ? stat->began : 0;
}

bool is_stopped(ProcessStat const& stat) { return stat.state == 'T' || stat.state == 't'; }

// In which process numbers are what this process takes them for; 0 if nobody knows.
std::uint64_t process_namespace() {
    struct stat status {};
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

struct flock whole_file(short type) {
    return {.l_type = type, .l_whence = SEEK_SET};
}

// Of the open file: it ends with the process at the latest.
void lock(int descriptor) {
    auto wanted = whole_file(F_WRLCK);
    fcntl(descriptor, F_OFD_SETLK, &wanted);
}

bool is_locked_by_another(int descriptor) {
    auto wanted = whole_file(F_WRLCK);
    return fcntl(descriptor, F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
}

}  // namespace

std::string_view name_of(LocalityKind kind) {
    constexpr std::array<std::string_view, 4> names{"none", "fiemap", "layout", "offsets"};
    return names[static_cast<std::size_t>(kind)];
}

// ---- the process
// ---------------------------------------------------------------------------------

std::unique_ptr<Slot> Slot::take(std::string const& slots, std::string_view program) {
    // A name that nobody can guess, and nobody in another namespace has.
    auto unfinished = slots + "/new-XXXXXX";
    int const fd = mkostemp(unfinished.data(), O_CLOEXEC);
    if (fd < 0) return nullptr;
    auto const path = slots + "/slot-" + unfinished.substr(unfinished.rfind('-') + 1);
    SharedFile<SlotMemory> memory;
    if (posix_fallocate(fd, 0, sizeof(SlotMemory)) == 0) memory = SharedFile<SlotMemory>(fd, true);
    if (memory) {
        program.copy(memory->program.data(), memory->program.size() - 1);
        memory->process = getpid();
        memory->process_began = process_began(getpid());
        memory->process_namespace = process_namespace();
        memory->version = SlotMemory::right_version;
        lock(fd);
    }
    // The node daemon hears of it now, and finds a whole one.
    if (!memory || rename(unfinished.c_str(), path.c_str()) != 0) {
        unlink(unfinished.c_str());
        close(fd);
        return nullptr;
    }
    return std::unique_ptr<Slot>(new Slot(fd, std::move(memory), path));
}

Slot::~Slot() {
    memory_->left = 1;
    unlink(path_.c_str());
    close(descriptor_);
}

bool Slot::is_heard() const { return has_name(descriptor_); }

bool Slot::has_room(std::uint64_t events) const {
    auto const used = memory_->written.load(std::memory_order_relaxed) -
                      memory_->taken.load(std::memory_order_acquire);
    return used + owed_ + events <= SlotMemory::events_max;
}

void Slot::write(SlotEvent const& event) {
    auto const written = memory_->written.load(std::memory_order_relaxed);
    memory_->events[written % SlotMemory::events_max] = event;
    memory_->written.store(written + 1, std::memory_order_release);
}

void Slot::write_all(SlotEvent::Kind kind, std::uint32_t first_token, std::uint32_t count,
                     Time now) {
    std::lock_guard const lock(mutex_);
    owed_ -= count;
    for (std::uint32_t i = 0; i < count; ++i)
        write({.kind = kind, .token = first_token + i, .time = now});
}

std::uint32_t Slot::arrived(bool held, std::span<DiskAddress const> addresses, std::uint64_t file,
                            Time now) {
    std::lock_guard const lock(mutex_);
    std::uint64_t const to_follow = addresses.size() * (held ? 2 : 1);
    if (addresses.empty() || !has_room(addresses.size() + to_follow)) {
        memory_->lost.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    auto const count = static_cast<std::uint32_t>(addresses.size());
    if (next_token_ + count < next_token_) next_token_ = 1;
    auto const first = next_token_;
    for (auto const& address : addresses)
        write({.kind = held ? SlotEvent::Kind::held : SlotEvent::Kind::entered,
               .token = next_token_++,
               .time = now,
               .disk_address = address,
               .file = file});
    owed_ += to_follow;
    return first;
}

void Slot::waited_for(bool more) {
    if (more)
        memory_->waited_for.fetch_add(1, std::memory_order_relaxed);
    else
        memory_->waited_for.fetch_sub(1, std::memory_order_relaxed);
}

void Slot::released(std::uint32_t first_token, std::uint32_t count, Time now) {
    write_all(SlotEvent::Kind::released, first_token, count, now);
}

void Slot::finished(std::uint32_t first_token, std::uint32_t count, Time now) {
    write_all(SlotEvent::Kind::finished, first_token, count, now);
}

// ---- the node daemon
// -----------------------------------------------------------------------------------

namespace {

template <class Value>
bool read_at(int descriptor, std::size_t offset, Value& value) {
    return pread(descriptor, static_cast<void*>(&value), sizeof value,
                 static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof value);
}

template <class Value>
bool read_member(int descriptor, Value SlotMemory::*, std::size_t offset, auto& value) {
    static_assert(sizeof(Value) == sizeof value);
    return read_at(descriptor, offset, value);
}

#define UNISONO_READ(member, value) \
    read_member(descriptor_, &SlotMemory::member, offsetof(SlotMemory, member), value)

}  // namespace

std::unique_ptr<SlotReader> SlotReader::open(std::string const& path) {
    int const fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return nullptr;
    struct stat status {};
    // What is written into it must not come out somewhere else.
    bool const right = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
                       status.st_size == sizeof(SlotMemory);
    std::unique_ptr<SlotReader> reader(new SlotReader(fd, status.st_uid));
    if (!right || !reader->read_head()) return nullptr;
    return reader;
}

SlotReader::~SlotReader() { close(descriptor_); }

bool SlotReader::read_head() {
    std::uint64_t version = 0;
    std::array<char, program_id_length_max + 1> program{};
    if (!UNISONO_READ(version, version) || version != SlotMemory::right_version ||
        !UNISONO_READ(program, program) || !UNISONO_READ(process, process_) ||
        !UNISONO_READ(process_began, process_began_) ||
        !UNISONO_READ(process_namespace, process_namespace_) || !UNISONO_READ(taken, taken_))
        return false;
    program.back() = '\0';
    program_ = program.data();
    return is_program_id(program_);
}

bool SlotReader::alive() const {
    std::uint32_t left = 1;
    if (!UNISONO_READ(left, left) || left != 0) return false;
    return is_of_own_namespace() ? process_began(process_) == process_began_
                                 : is_locked_by_another(descriptor_);
}

bool SlotReader::is_of_own_namespace() const {
    static auto const own_namespace = process_namespace();
    return process_namespace_ == own_namespace;
}

bool SlotReader::waits() const {
    std::uint32_t waited_for = 0;
    if (!UNISONO_READ(waited_for, waited_for) || waited_for == 0 || !is_of_own_namespace())
        return false;
    auto const stat = stat_of(process_);
    return stat && stat->began == process_began_ && !is_stopped(*stat);
}

std::uint64_t SlotReader::lost() const {
    std::uint64_t lost = 0;
    UNISONO_READ(lost, lost);
    return lost;
}

bool SlotReader::take(std::vector<SlotEvent>& events) {
    std::uint64_t written = 0;
    if (!UNISONO_READ(written, written)) return false;
    if (written == taken_) return true;
    if (written - taken_ > SlotMemory::events_max) return false;
    std::array<SlotEvent, SlotMemory::events_max> ring;
    if (!UNISONO_READ(events, ring)) return false;
    for (; taken_ != written; ++taken_) {
        auto const& event = ring[taken_ % SlotMemory::events_max];
        if (event.kind <= SlotEvent::Kind::finished &&
            event.disk_address.kind <= LocalityKind::offsets &&
            event.disk_address.server < servers_max)
            events.push_back(event);
    }
    return pwrite(descriptor_, &taken_, sizeof taken_, offsetof(SlotMemory, taken)) ==
           static_cast<ssize_t>(sizeof taken_);
}

void SlotReader::skip() {
    std::vector<SlotEvent> forgotten;
    take(forgotten);
}

}  // namespace unisono::orchestra
