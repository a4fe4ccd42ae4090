#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchestra/gate/shared_file.hpp"
#include "orchestra/program_id.hpp"
#include "orchestra/time.hpp"

namespace unisono::orchestra {

/// How a process knows where its accesses go.
enum class LocalityKind : std::uint32_t {
    none,     ///< it does not
    fiemap,   ///< bytes of the disk, from the local file system
    layout,   ///< bytes of a server's object, from the layout
    offsets,  ///< file offsets
};

std::string_view name_of(LocalityKind kind);

/// So many servers of a file system are told apart; what is said of others is not passed on.
constexpr std::uint32_t servers_max = 1024;

/// Where one access goes on one server.
struct DiskAddress {
    std::uint32_t server = 0;
    LocalityKind kind = LocalityKind::none;  ///< none: `address` has no meaning
    std::uint64_t address = 0;               ///< bytes
    std::uint64_t bytes = 0;
};

/// What a process says of one access at one server.
struct SlotEvent {
    enum class Kind : std::uint32_t {
        entered,   ///< it came and was let in
        held,      ///< it came and waits
        released,  ///< it waits no longer
        finished
    };
    Kind kind = Kind::entered;
    std::uint32_t token = 0;   ///< tells the accesses of a slot apart
    Time time = 0;             ///< CLOCK_MONOTONIC
    DiskAddress disk_address;  ///< entered and held
    std::uint64_t file = 0;    ///< entered and held
};

/// What a process tells the node daemon, in shared memory: a ring that the process fills and the
/// node daemon empties. Both only ever add to their own counter.
struct SlotMemory {
    static constexpr std::uint64_t right_version = 0x756e69736f6e0103;
    static constexpr std::size_t events_max = 256;

    std::uint64_t version;
    std::array<char, program_id_length_max + 1> program;
    std::int32_t process;
    std::uint64_t process_began;            ///< field 22 of its /proc stat: numbers are used again
    std::uint64_t process_namespace;        ///< what its number is one of
    std::atomic<std::uint32_t> left;        ///< its process does not need it any more
    std::atomic<std::uint32_t> waited_for;  ///< accesses whose end somebody waits for
    std::atomic<std::uint64_t> lost;        ///< accesses that the ring had no room for
    std::atomic<std::uint64_t> written;     ///< events, by the process
    std::atomic<std::uint64_t> taken;       ///< events, by the node daemon
    std::array<SlotEvent, events_max> events;
};

/// The process's side. Never waits for the node daemon: an access that finds no room is left out
/// and counted, and whoever is in the ring has room for all that will be said of it. Keeps its file
/// open and locked: where a node daemon cannot see the process, the lock says that it is there.
/// Thread-safe.
class Slot {
public:
    /// Null if there can be none in the folder `slots`.
    static std::unique_ptr<Slot> take(std::string const& slots, std::string_view program);
    ~Slot();
    Slot(Slot const&) = delete;
    Slot& operator=(Slot const&) = delete;

    /// An access comes, and is let in at once or `held`. Returns what the others want: one token
    /// for each address from there on; 0 if it was left out.
    std::uint32_t arrived(bool held, std::span<DiskAddress const> addresses, std::uint64_t file,
                          Time now);
    void released(std::uint32_t first_token, std::uint32_t count, Time now);
    void finished(std::uint32_t first_token, std::uint32_t count, Time now);
    /// Somebody waits for the end of one access more, or of one less.
    void waited_for(bool more);
    /// False once a node daemon has taken the file away: nobody hears what is said. Cost: a system
    /// call.
    [[nodiscard]] bool is_heard() const;

private:
    Slot(int descriptor, SharedFile<SlotMemory> memory, std::string path)
        : descriptor_(descriptor), memory_(std::move(memory)), path_(std::move(path)) {}
    [[nodiscard]] bool has_room(std::uint64_t events) const;
    void write(SlotEvent const& event);
    void write_all(SlotEvent::Kind kind, std::uint32_t first_token, std::uint32_t count, Time now);

    int descriptor_;
    SharedFile<SlotMemory> memory_;
    std::string path_;
    std::mutex mutex_;        // guards what follows
    std::uint64_t owed_ = 0;  // events that will follow of those that are in the ring
    std::uint32_t next_token_ = 1;
};

/// The node daemon's side. It reads the file instead of mapping it: a process that makes its own
/// file shorter must not end the node daemon. Not thread-safe.
class SlotReader {
public:
    /// Null if it is none: no regular file of that size, or with a second name, another version, or
    /// unfit to be a program. Never waits.
    static std::unique_ptr<SlotReader> open(std::string const& path);
    ~SlotReader();
    SlotReader(SlotReader const&) = delete;
    SlotReader& operator=(SlotReader const&) = delete;

    [[nodiscard]] std::string const& program() const { return program_; }
    /// The kernel says who made it.
    [[nodiscard]] uid_t owner() const { return owner_; }
    /// False once its process has ended or left it.
    [[nodiscard]] bool alive() const;
    /// Its process waits in an access, and is not stopped. False if that cannot be seen: it is in
    /// another PID namespace.
    [[nodiscard]] bool waits() const;
    /// Adds what is new to `events`; false if the file is none any more. Numbers are as the process
    /// wrote them, kinds are valid.
    bool take(std::vector<SlotEvent>& events);
    /// Forgets what is new.
    void skip();
    [[nodiscard]] std::uint64_t lost() const;

private:
    SlotReader(int descriptor, uid_t owner) : descriptor_(descriptor), owner_(owner) {}
    bool read_head();
    [[nodiscard]] bool is_of_own_namespace() const;

    int descriptor_;
    uid_t owner_;
    std::string program_;
    int process_ = 0;
    std::uint64_t process_began_ = 0;
    std::uint64_t process_namespace_ = 0;
    std::uint64_t taken_ = 0;
};

}  // namespace unisono::orchestra
