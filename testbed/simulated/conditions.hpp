#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulated/links.hpp"

namespace unisono::simulated {

/// What durations are made of where they stand for nothing in particular: sums of them are exact,
/// whatever the clock shows.
constexpr double tick_s = 1.0 / (1 << 20);

/// A rank stops for a while, or for good, at its n-th await point.
struct Stall {
    std::uint32_t rank = 0;
    std::uint64_t await = 0;
    std::uint64_t ticks = 0;  ///< 0: for good

    friend bool operator==(Stall const&, Stall const&) = default;
};

/// A rank's n-th access to the file fails somewhere within.
struct AccessFault {
    std::uint32_t rank = 0;
    std::uint64_t access = 0;
    int code = 0;  ///< errno

    friend bool operator==(AccessFault const&, AccessFault const&) = default;
};

/// What the machine does to its ranks. All that is not said here is made up from the seed.
struct Conditions {
    std::uint64_t seed = 0;
    std::uint64_t delay_ticks_max = 0;  ///< of a message, a collective operation, a file access
    std::uint64_t pause_ticks_max = 0;  ///< of a rank at an await point
    std::optional<std::uint32_t> slow_rank;  ///< its pauses are 100 times as long
    bool synchronous = false;  ///< some messages have left only when they are received
    bool overlaps = false;     ///< file accesses go on while ranks do other things
    std::vector<Stall> stalls;
    std::vector<AccessFault> faults;
    std::vector<bool> node_lacks_memory;  ///< no shared memory for data; empty: all have it
    bool messages_overtake = false;       ///< as MPI forbids it: a canary
    std::optional<Network> network;       ///< what messages cost, instead of made-up delays

    friend bool operator==(Conditions const&, Conditions const&) = default;
};

/// What ranks wait for, or let others run in.
enum class Await : std::uint8_t {
    idle,
    send,
    receive,
    finish_sends,
    node_memory,
    merge,
    gather,
    minimum,
    unite,
    sum,
    file,
    end
};

/// "waits", "sends", ...
char const* name_of(Await await);

/// One await point of one rank.
struct Event {
    double at_s = 0;  ///< since the run began
    std::uint32_t rank = 0;
    Await await = Await::idle;
    std::uint64_t detail = 0;  ///< whom it concerns, or how many bytes
};

}  // namespace unisono::simulated
