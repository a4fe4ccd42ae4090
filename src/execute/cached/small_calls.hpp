#pragma once

#include <gtest/gtest.h>

#include "execute/collective.hpp"
#include "execute/collective_cases.hpp"
#include "execute/thread_team.hpp"
#include "support/clock.hpp"

// Test equipment: two ranks that make many small collective calls.

namespace unisono {

constexpr std::uint64_t record_bytes = 100;
constexpr std::uint32_t small_ranks = 2;

inline std::byte value_of(std::uint32_t rank, int call) {
    return std::byte(1 + 16 * rank + call % 16);
}

/// Where the file has a rank's record of a call.
inline std::uint64_t offset_of(std::uint64_t call, std::uint32_t rank) {
    return (call * small_ranks + rank) * record_bytes;
}

/// A rank that writes records of 100 bytes, in turn with the others, to blocks of 1000.
class SmallCalls {
public:
    SmallCalls(Team& team, Rendezvous& rendezvous, TemporaryFile const& file,
               std::string const& faults = "")
        : team_{team}, rendezvous_{rendezvous} {
        arrange(storage_, file, faults, counts);
        options.strategy = "view_based";
        options.cb_buffer_size = 1000;
        options.pool_bytes = 1 << 20;
        options.cb_nodes = 2;
    }

    /// The record of a call; `bytes` of it.
    Outcome write(int call, std::uint64_t bytes = record_bytes) {
        std::vector<std::byte> data(bytes, value_of(team_.rank(), call));
        return collective(Direction::write, offset_of(call, team_.rank()), data);
    }

    Outcome collective(Direction direction, std::uint64_t at, std::vector<std::byte>& data) {
        auto const request = request_of(direction, at, data);
        CallerFacts const caller{.objection = {.refusal = std::exchange(refusal, 0)}};
        record = CallRecord{clock};
        CollectiveFile file{team_,   rendezvous_, storage_,  layout_,
                            options, tuner_,      gathered_, &cache};
        file.ahead = ahead;
        return perform_collective(file, request, caller, record);
    }

    Rendezvous& rendezvous() { return rendezvous_; }
    void promise_not_to_read() { storage_.write_only = true; }
    void promise_not_to_write() { storage_.read_only = true; }
    void be_far_away() { storage_.local = false; }
    void be_near() { storage_.local = true; }

    IoResult write_alone(std::uint64_t at, std::vector<std::byte>& data) {
        CallRecord alone;
        return cache.perform_independent(request_of(Direction::write, at, data), alone);
    }

    IoResult read_alone(std::uint64_t at, std::vector<std::byte>& data) {
        CallRecord alone;
        return cache.perform_independent(request_of(Direction::read, at, data), alone);
    }

    /// Another handle's, of the same program.
    void write_elsewhere(TemporaryFile const& file, std::uint64_t at,
                         std::vector<std::byte>& data) {
        EXPECT_EQ(pwrite(file.descriptor(), data.data(), data.size(), off_t(at)),
                  ssize_t(data.size()));
        auto const request = request_of(Direction::write, at, data);
        cache.take_note_of(request, request.positions);
    }

private:
    static Request request_of(Direction direction, std::uint64_t at, std::vector<std::byte>& data) {
        return {.direction = direction,
                .view = {make_dense(1), 0, 1},
                .positions = {at, at + data.size()},
                .memory = {make_dense(1), 0, 1},
                .base = reinterpret_cast<std::uintptr_t>(data.data())};
    }

    Team& team_;
    Rendezvous& rendezvous_;
    Storage storage_;
    Layout layout_;
    OnlineTuner tuner_;
    GatheredFacts gathered_;

public:
    std::shared_ptr<BackendCounts> counts = std::make_shared<BackendCounts>();
    Options options;
    std::int32_t refusal = 0;  // of the next call's arguments
    AheadOfAgreement* ahead = nullptr;
    CachedFile cache{team_, rendezvous_, storage_};
    CallRecord::Clock clock = steady_clock_s;
    CallRecord record;
};

/// On one node, and on two.
class OnNodes : public testing::TestWithParam<std::vector<std::uint32_t>> {
protected:
    /// Runs the program on each rank, and drains in the end.
    void run(std::function<void(SmallCalls&, std::uint32_t)> const& program,
             std::string const& faults = "") const {
        ThreadTeams teams{make_topology(GetParam())};
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            SmallCalls calls{team, rendezvous, file, faults};
            program(calls, team.rank());
            CallRecord record;
            calls.cache.drain(record);
        });
    }
    TemporaryFile const file;
};

inline auto const one_node = std::vector<std::uint32_t>{0, 0};
inline auto const two_nodes = std::vector<std::uint32_t>{0, 1};
inline auto const name_of_nodes =
    [](testing::TestParamInfo<std::vector<std::uint32_t>> const& nodes) {
        return nodes.param[1] == 0 ? "one" : "two";
    };

}  // namespace unisono
