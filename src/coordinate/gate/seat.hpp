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

#include "coordinate/gate/shared_file.hpp"
#include "coordinate/program_id.hpp"
#include "coordinate/time.hpp"

namespace unisono::coordinate {

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
struct AccessPlace {
    std::uint32_t server = 0;
    LocalityKind kind = LocalityKind::none;  ///< none: `address` has no meaning
    std::uint64_t address = 0;               ///< bytes
    std::uint64_t bytes = 0;
};

/// What a process says of one access at one server.
struct SeatEvent {
    enum class Kind : std::uint32_t {
        entered,   ///< it came and was let in
        held,      ///< it came and waits
        released,  ///< it waits no longer
        finished
    };
    Kind kind = Kind::entered;
    std::uint32_t ticket = 0;  ///< tells the accesses of a seat apart
    Time time = 0;             ///< CLOCK_MONOTONIC
    AccessPlace place;         ///< entered and held
    std::uint64_t file = 0;    ///< entered and held
};

/// What a process tells the agent, in shared memory: a ring that the process fills and the agent
/// empties. Both only ever add to their own counter.
struct SeatMemory {
    static constexpr std::uint64_t right_version = 0x756e69736f6e0101;
    static constexpr std::size_t events_max = 256;

    std::uint64_t version;
    std::array<char, program_id_length_max + 1> program;
    std::int32_t process;
    std::uint64_t process_began;         ///< field 22 of its /proc stat: numbers are used again
    std::atomic<std::uint32_t> left;     ///< its process does not need it any more
    std::atomic<std::uint64_t> lost;     ///< accesses that the ring had no room for
    std::atomic<std::uint64_t> written;  ///< events, by the process
    std::atomic<std::uint64_t> taken;    ///< events, by the agent
    std::array<SeatEvent, events_max> events;
};

/// The process's side. Never waits for the agent: an access that finds no room is left out and
/// counted, and whoever is in the ring has room for all that will be said of it. Thread-safe.
class Seat {
public:
    /// Null if there can be none in `folder`.
    static std::unique_ptr<Seat> take(std::string const& folder, std::string_view program);
    ~Seat();
    Seat(Seat const&) = delete;
    Seat& operator=(Seat const&) = delete;

    /// An access comes, and is let in at once or `held`. Returns what the others want: one ticket
    /// for each place from there on; 0 if it was left out.
    std::uint32_t arrived(bool held, std::span<AccessPlace const> places, std::uint64_t file,
                          Time now);
    void released(std::uint32_t first_ticket, std::uint32_t count, Time now);
    void finished(std::uint32_t first_ticket, std::uint32_t count, Time now);

private:
    Seat(SharedFile<SeatMemory> memory, std::string path)
        : memory_(std::move(memory)), path_(std::move(path)) {}
    [[nodiscard]] bool has_room(std::uint64_t events) const;
    void write(SeatEvent const& event);
    void write_all(SeatEvent::Kind kind, std::uint32_t first_ticket, std::uint32_t count, Time now);

    SharedFile<SeatMemory> memory_;
    std::string path_;
    std::mutex mutex_;        // guards what follows
    std::uint64_t owed_ = 0;  // events that will follow of those that are in the ring
    std::uint32_t next_ticket_ = 1;
};

/// The agent's side. It reads the file instead of mapping it: a process that makes its own file
/// shorter must not end the agent. Not thread-safe.
class SeatReader {
public:
    /// Null if it is none: no regular file of that size, another version, or unfit to be a program.
    static std::unique_ptr<SeatReader> open(std::string const& path);
    ~SeatReader();
    SeatReader(SeatReader const&) = delete;
    SeatReader& operator=(SeatReader const&) = delete;

    [[nodiscard]] std::string const& program() const { return program_; }
    /// The kernel says who made it.
    [[nodiscard]] uid_t owner() const { return owner_; }
    /// False once its process has ended or left it.
    [[nodiscard]] bool alive() const;
    /// Adds what is new to `events`; false if the file is none any more. Numbers are as the process
    /// wrote them, kinds are valid.
    bool take(std::vector<SeatEvent>& events);
    /// Forgets what is new.
    void skip();
    [[nodiscard]] std::uint64_t lost() const;

private:
    SeatReader(int descriptor, uid_t owner) : descriptor_(descriptor), owner_(owner) {}
    bool read_head();

    int descriptor_;
    uid_t owner_;
    std::string program_;
    int process_ = 0;
    std::uint64_t process_began_ = 0;
    std::uint64_t taken_ = 0;
};

}  // namespace unisono::coordinate
