#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/profile.hpp"
#include "model/time.hpp"

namespace unisono::testbed {

enum class Operation : std::uint8_t { read, write, flush };

struct Command {
    std::uint64_t id = 0;
    Operation operation = Operation::read;
    std::uint64_t sector = 0;
    std::uint64_t sectors = 0;  ///< at least 1, but for a flush

    [[nodiscard]] std::uint64_t end() const { return sector + sectors; }
};

struct Finished {
    std::uint64_t id = 0;
    Time time = 0;
};

/// What a drive did since it was made.
struct DriveCounters {
    std::uint64_t commands = 0;
    std::uint64_t cache_hits = 0;  ///< reads that needed nothing from the medium
    std::uint64_t media_accesses = 0;
    std::uint64_t seeks = 0;  ///< media accesses on another cylinder than the one before
    std::uint64_t seek_cylinders = 0;
    std::uint64_t positioning_ns = 0;  ///< seeks and rotation
};

/// A disk as a machine that reacts to time. Nothing in it knows the real time, threads or files.
///
/// Times never go backwards: submit() and advance() take the time of the last call, or a later one;
/// before submit(now) the drive must have been advanced to `now`.
class Drive {
public:
    Drive() = default;
    Drive(Drive const&) = delete;
    Drive& operator=(Drive const&) = delete;
    virtual ~Drive() = default;

    /// How many more commands it takes now.
    [[nodiscard]] virtual std::uint32_t free_slots() const = 0;

    /// Only with a free slot.
    virtual void submit(Time now, Command const& command) = 0;

    /// When something will happen without a further command; `never` if nothing will.
    [[nodiscard]] virtual Time next_event() const = 0;

    /// Lets everything happen up to `until`; appends what finished, ascending in time.
    virtual void advance(Time until, std::vector<Finished>& finished) = 0;

    /// Forgets what was read, as after a pause with other work.
    virtual void drop_caches(Time now) = 0;

    [[nodiscard]] virtual DriveCounters const& counters() const = 0;
};

/// The drive that a profile describes.
std::unique_ptr<Drive> make_drive(DriveProfile const& profile);

}  // namespace unisono::testbed
