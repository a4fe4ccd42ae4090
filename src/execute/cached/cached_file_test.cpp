#include "execute/cached/cached_file.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "execute/cached/small_calls.hpp"
#include "execute/collective_cases.hpp"

namespace unisono {
namespace {

/// Calls on one file one after the other, made up from a seed, and what the file may hold after
/// each: a later call's bytes replace an earlier one's.
struct Sequence : Case {
    struct Call {
        Direction direction = Direction::write;
        Options options;
        std::vector<Request> requests;
        std::vector<std::vector<std::byte>> buffers;
        bool drain_after = false;
    };
    using Contents = std::map<std::uint64_t, std::vector<std::byte>>;  // offset -> any of these

    explicit Sequence(std::uint64_t seed) : Case{seed} {
        options.strategy = "view_based";
        options.cb_buffer_size = below(4) == 0 ? 1 + below(100) : 64 + below(2000);
        options.pool_bytes = options.cb_buffer_size * (1 + below(8));
        options.flush_at_close = below(2) == 0;
        if (below(3) == 0) options.write_behind_bytes = 1 + below(8 * options.cb_buffer_size);
        Contents now;
        auto const before = initial_contents(file_bytes);
        for (std::uint64_t at = 0; at < file_bytes; ++at) now[at] = {before[at]};
        states.push_back(now);
        for (auto count = 1 + below(10); count > 0; --count) add_call();
        calls.back().drain_after = true;
    }

    void add_call() {
        Call call;
        call.options = options;
        auto const strategies = all_strategies();
        if (below(6) == 0)
            call.options.strategy = strategies[1 + below(strategies.size() - 1)]->name;
        call.direction = below(3) == 0 ? Direction::read : Direction::write;
        call.drain_after = below(5) == 0;
        if (!calls.empty() && below(2) == 0) return add(repeated(std::move(call)));
        auto const some_new = below(3) == 0;
        for (auto& mine : requests) {
            if (some_new && below(2) == 0) mine = request(40);
            auto const bytes = below(600);
            mine.positions = {mine.positions.end / 2, mine.positions.end / 2 + bytes};
        }
        add(std::move(call));
    }

    // The last call once more, further on in the views; perhaps one rank does not.
    Call repeated(Call call) {
        call.direction = calls.back().direction;
        call.drain_after = below(20) == 0;
        for (auto& mine : requests) {
            auto const bytes = mine.positions.bytes();
            mine.positions = {mine.positions.end, mine.positions.end + bytes};
        }
        if (below(6) == 0) requests[below(requests.size())].positions.end += 1 + below(50);
        return call;
    }

    void add(Call call) {
#ifdef __SANITIZE_THREAD__
        keep_ranks_apart();
#endif
        call.requests = requests;
        auto after = states.back();
        if (call.direction == Direction::write) apply(call, after);
        states.push_back(std::move(after));
        calls.push_back(std::move(call));
    }

    void apply(Call const& call, Contents& contents) {
        Contents mine;
        for (std::uint32_t rank = 0; rank < call.requests.size(); ++rank) {
            auto position = std::uint64_t{17} * calls.size();
            walk(call.requests[rank].view, call.requests[rank].positions,
                 [&](std::int64_t offset, std::uint64_t bytes) {
                     for (std::uint64_t i = 0; i < bytes; ++i)
                         mine[std::uint64_t(offset) + i].push_back(written(rank, position++));
                 });
        }
        for (auto& [offset, values] : mine) contents[offset] = values;
    }

    std::vector<Call> calls;
    std::vector<Contents> states;  // before the first call, after each
};

std::vector<std::byte> buffer_of(Sequence::Call const& call, std::uint32_t rank,
                                 std::size_t number) {
    auto const& request = call.requests[rank];
    auto buffer = buffer_for(request, std::byte{0x6E});
    auto position = std::uint64_t{17} * number;
    if (call.direction == Direction::write)
        walk(request.memory, {0, request.positions.bytes()},
             [&](std::int64_t offset, std::uint64_t bytes) {
                 for (std::uint64_t i = 0; i < bytes; ++i)
                     buffer[std::size_t(offset) + i] = written(rank, position++);
             });
    return buffer;
}

bool contains(std::vector<std::byte> const& values, std::byte value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

std::uint64_t size_of(Sequence::Contents const& contents) {
    return contents.empty() ? 0 : contents.rbegin()->first + 1;
}

void check_file(TemporaryFile const& file, Sequence::Contents const& expected) {
    auto const found = file.contents();
    ASSERT_EQ(found.size(), size_of(expected));
    for (std::uint64_t at = 0; at < found.size(); ++at) {
        auto const values = expected.find(at);
        if (values == expected.end())
            ASSERT_EQ(found[at], std::byte{0}) << "offset " << at;
        else
            ASSERT_TRUE(contains(values->second, found[at])) << "offset " << at;
    }
}

// What a read brought, against what the file may hold.
void check_read(Request const& request, std::vector<std::byte> const& buffer,
                Sequence::Contents const& contents, std::uint64_t bytes) {
    auto const size = size_of(contents);
    std::uint64_t in_file = 0;
    walk_both(request.view, request.positions, request.memory, {0, request.positions.bytes()},
              [&](std::int64_t file, std::int64_t memory, std::uint64_t length) {
                  for (std::uint64_t i = 0; i < length; ++i) {
                      auto const offset = std::uint64_t(file) + i;
                      auto const found = buffer[std::size_t(memory) + i];
                      in_file += offset < size ? 1 : 0;
                      auto const values = contents.find(offset);
                      if (offset >= size)
                          ASSERT_EQ(found, std::byte{0x6E}) << "offset " << offset;
                      else if (values == contents.end())
                          ASSERT_EQ(found, std::byte{0}) << "offset " << offset;
                      else
                          ASSERT_TRUE(contains(values->second, found)) << "offset " << offset;
                  }
              });
    EXPECT_EQ(bytes, in_file);
}

// This rank's own bytes, where no other rank wrote them in the same call.
void check_own_bytes(CachedFile& cache, Request request, std::uint32_t rank, std::size_t number,
                     Sequence::Contents const& contents) {
    request.direction = Direction::read;
    auto back = buffer_for(request, std::byte{0x6E});
    request.base = reinterpret_cast<std::uintptr_t>(back.data());
    CallRecord record;
    EXPECT_EQ(cache.perform_independent(request, record).bytes, request.positions.bytes());
    auto position = std::uint64_t{17} * number;
    walk_both(request.view, request.positions, request.memory, {0, request.positions.bytes()},
              [&](std::int64_t file, std::int64_t memory, std::uint64_t length) {
                  for (std::uint64_t i = 0; i < length; ++i, ++position)
                      if (contents.at(std::uint64_t(file) + i).size() == 1) {
                          ASSERT_EQ(back[std::size_t(memory) + i], written(rank, position))
                              << "offset " << std::uint64_t(file) + i;
                      }
              });
}

void wait_for_all(Rendezvous& rendezvous) {
    Verdict nothing;
    rendezvous.meet(nothing);
}

void perform(Sequence& made, TemporaryFile const& file, Team& team, Rendezvous& rendezvous) {
    Storage storage;
    storage.descriptor = file.descriptor();
    storage.backend = make_posix_backend(storage.descriptor);
    CachedFile cache{team, rendezvous, storage};
    OnlineTuner tuner;
    GatheredFacts gathered;
    auto const rank = team.rank();
    for (std::size_t number = 0; number < made.calls.size(); ++number) {
        SCOPED_TRACE(testing::Message() << "rank " << rank << ", call " << number);
        auto const& call = made.calls[number];
        auto buffer = buffer_of(call, rank, number);
        auto request = call.requests[rank];
        request.direction = call.direction;
        request.base = reinterpret_cast<std::uintptr_t>(buffer.data());
        CallRecord record;
        auto const outcome = perform_collective(
            {team, rendezvous, storage, made.layout, call.options, tuner, gathered, &cache},
            request, {}, record);
        EXPECT_EQ(outcome.verdict.code, 0);
        if (call.direction == Direction::write) {
            EXPECT_EQ(outcome.bytes, request.positions.bytes());
            EXPECT_FALSE(cache.settle_size().error);
            wait_for_all(rendezvous);
            EXPECT_EQ(std::uint64_t(lseek(file.descriptor(), 0, SEEK_END)),
                      size_of(made.states[number + 1]));
            check_own_bytes(cache, request, rank, number, made.states[number + 1]);
        } else {
            check_read(request, buffer, made.states[number], outcome.bytes);
        }
        wait_for_all(rendezvous);
        if (!call.drain_after) continue;
        cache.drain(record);
        EXPECT_FALSE(cache.in_use());
        EXPECT_EQ(cache.take_error().code, 0);
        if (rank == 0) check_file(file, made.states[number + 1]);
        wait_for_all(rendezvous);
    }
}

TEST(Cached, calls_one_after_the_other_leave_what_the_last_one_wrote) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Sequence made{seed};
        TemporaryFile const file;
        file.fill(initial_contents(made.file_bytes));
        ThreadTeams teams{made.topology};
        teams.no_node_memory = made.no_node_memory;
        teams.run(
            [&](Team& team, Rendezvous& rendezvous) { perform(made, file, team, rendezvous); });
        if (HasFailure()) return;
    }
}

// For contiguous data in `memory`, which must outlive it.
Request request_for(Direction direction, Tiling const& view, Positions positions,
                    std::vector<std::byte>& memory) {
    return {.direction = direction,
            .view = view,
            .positions = positions,
            .memory = {make_dense(1), 0, 1},
            .base = reinterpret_cast<std::uintptr_t>(memory.data())};
}

/// Ranks that deal pieces of 16 bytes to each other, in blocks of 1 KiB.
class Dealt {
public:
    Dealt(Team& team, Rendezvous& rendezvous, TemporaryFile const& file, std::string const& faults)
        : team_{team}, rendezvous_{rendezvous} {
        arrange(storage_, file, faults, counts);
        options_.strategy = "view_based";
        options_.cb_buffer_size = 1024;
        options_.cb_nodes = team.topology().ranks();
        options_.flush_at_close = true;
        options_.write_behind = Switch::disable;
    }

    void online() { options_.flush_at_close = false; }
    void use(std::unique_ptr<Backend> backend) { storage_.backend = std::move(backend); }

    Outcome call(Direction direction, Positions positions, std::int64_t displacement = 0) {
        auto const ranks = std::int64_t(team_.topology().ranks());
        memory.resize(positions.bytes(), std::byte(team_.rank() + 1));
        auto const request =
            request_for(direction, {make_dense(16), displacement + 16 * team_.rank(), 16 * ranks},
                        positions, memory);
        record = CallRecord{};
        return perform_collective(
            {team_, rendezvous_, storage_, layout_, options_, measured_, gathered_, &cache},
            request, {}, record);
    }

private:
    Team& team_;
    Rendezvous& rendezvous_;
    Storage storage_;
    Layout layout_;
    Options options_;
    OnlineTuner measured_;
    GatheredFacts gathered_;

public:
    CachedFile cache{team_, rendezvous_, storage_};
    CallRecord record;
    std::vector<std::byte> memory;
    std::shared_ptr<BackendCounts> counts = std::make_shared<BackendCounts>();
};

TEST(Cached, a_view_is_sent_once_and_afterwards_nothing_but_data) {
    TemporaryFile const file;
    ThreadTeams teams{make_topology({0, 0, 1, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Dealt dealt{team, rendezvous, file, ""};
        // 8 KiB of all ranks: 2 KiB of each, half of it for the other node's two aggregators.
        dealt.call(Direction::write, {0, 2048});
        for (std::int64_t turn = 1; turn < 4; ++turn) {
            dealt.call(Direction::write, {0, 2048}, turn * 8192);  // another displacement
            EXPECT_EQ(dealt.record.traffic.messages, 2u);
            EXPECT_EQ(dealt.record.traffic.message_bytes, 1024u);
            EXPECT_EQ(dealt.record.traffic.meetings, 2u);
        }
        dealt.call(Direction::read, {0, 2048});
        EXPECT_EQ(dealt.record.traffic.messages, 2u);
        EXPECT_EQ(dealt.record.traffic.message_bytes, 1024u + 2 * sizeof(std::uint64_t));
        EXPECT_EQ((*dealt.counts)[Direction::read].lists, 0u);  // all of it was there
        dealt.cache.drain(dealt.record);
    });
    EXPECT_EQ(lseek(file.descriptor(), 0, SEEK_END), 4 * 8192);
}

TEST(Cached, a_deferred_write_that_fails_is_told_to_all_ranks_with_its_range) {
    TemporaryFile const file;
    ThreadTeams teams{make_topology({0, 0, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Dealt dealt{team, rendezvous, file, "write@2100=ENOSPC"};
        EXPECT_EQ(dealt.call(Direction::write, {0, 1600}).verdict.code, 0);  // [0, 4800)
        dealt.cache.drain(dealt.record);
        auto const error = dealt.cache.take_error();
        EXPECT_EQ(error.code, ENOSPC);
        EXPECT_EQ(error.offset, 2100u);
        EXPECT_EQ(error.lost_end, 3072u);  // the end of block 2
        EXPECT_EQ(error.lost_bytes, 3072u - 2100u);
        EXPECT_EQ(dealt.cache.take_error().code, 0);
        dealt.cache.drain(dealt.record);
        EXPECT_EQ(dealt.cache.take_error().code, 0);
    });
    auto const found = file.contents();
    ASSERT_EQ(found.size(), 4800u);
    for (std::size_t at = 0; at < found.size(); ++at)
        ASSERT_EQ(found[at], at >= 2100 && at < 3072 ? std::byte{0} : std::byte(1 + at / 16 % 3));
}

// The thread sanitizer sees to it that they may.
TEST(Cached, other_threads_ask_at_any_time_whether_it_is_in_use) {
    TemporaryFile const file;
    ThreadTeams teams{make_topology({0, 0})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Dealt dealt{team, rendezvous, file, ""};
        std::atomic<bool> over = false;
        std::thread other{[&] {
            while (!over)
                if (dealt.cache.in_use()) std::this_thread::yield();
        }};
        dealt.call(Direction::write, {0, 600});
        dealt.cache.drain(dealt.record);
        over = true;
        other.join();
    });
}

TEST(Cached, a_full_block_reaches_the_file_without_a_drain) {
    TemporaryFile const file;
    ThreadTeams teams{make_topology({0, 0})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Dealt dealt{team, rendezvous, file, ""};
        dealt.online();
        dealt.call(Direction::write, {0, 600});  // [0, 1200): block 0, and some of block 1
        wait_for_all(rendezvous);
        if (team.rank() == 0) {
            auto const found = file.contents();
            EXPECT_EQ(found[1023], std::byte{2});
            EXPECT_EQ(found[1024], std::byte{0});
        }
        wait_for_all(rendezvous);
        for (int call = 0; call < 20; ++call) dealt.call(Direction::read, {0, 16});
        wait_for_all(rendezvous);
        EXPECT_EQ(file.contents()[1024], std::byte{1});  // it waited for long enough
        wait_for_all(rendezvous);
        dealt.cache.drain(dealt.record);
    });
}

/// Counts how many of its accesses have been waited for.
class Waited final : public Backend {
public:
    Waited(int fd, int& count) : posix_{make_posix_backend(fd)}, count_{count} {}
    [[nodiscard]] std::string_view name() const override { return "waited"; }
    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        return posix_->perform(direction, list);
    }
    Error sync() override { return posix_->sync(); }
    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order /*order*/) override {
        return std::make_unique<Io>(perform(direction, list), count_);
    }

private:
    class Io final : public PendingIo {
    public:
        Io(IoResult result, int& count) : result_{result}, count_{count} {}
        IoResult wait() override {
            ++count_;
            return result_;
        }

    private:
        IoResult result_;
        int& count_;
    };

    std::unique_ptr<Backend> posix_;
    int& count_;
};

// What was written is still in the buffers; with a wait it came at the speed of the file.
TEST(Cached, a_read_does_not_wait_for_what_is_on_its_way_to_the_file) {
    TemporaryFile const file;
    int waits = 0;
    ThreadTeams teams{make_topology({0})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Dealt dealt{team, rendezvous, file, ""};
        dealt.online();
        dealt.use(std::make_unique<Waited>(file.descriptor(), waits));
        dealt.call(Direction::write, {0, 1024});  // block 0
        dealt.call(Direction::read, {0, 1024});
        EXPECT_EQ(dealt.memory[1023], std::byte{1});
        EXPECT_EQ(waits, 0);
        dealt.call(Direction::write, {0, 1024});
        EXPECT_EQ(waits, 1);
        dealt.cache.drain(dealt.record);
    });
}

TEST(Cached, own_independent_writes_survive_a_drain) {
    for (auto const& labels : {std::vector<std::uint32_t>{0, 0}, {0, 1}}) {
        TemporaryFile const file;
        ThreadTeams teams{make_topology(labels)};
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            Dealt dealt{team, rendezvous, file, ""};
            dealt.call(Direction::write, {0, 1600});
            std::vector<std::byte> mine(16, std::byte(100 + team.rank()));
            auto const request = request_for(
                Direction::write, {make_dense(16), 16 * team.rank(), 32}, {160, 176}, mine);
            CallRecord record;
            EXPECT_EQ(dealt.cache.perform_independent(request, record).bytes, 16u);
            dealt.call(Direction::read, {160, 176});
            EXPECT_EQ(dealt.memory[0], mine[0]);
            dealt.cache.drain(record);
        });
        auto const found = file.contents();
        ASSERT_EQ(found.size(), 3200u);
        EXPECT_EQ(found[319], std::byte{2});
        EXPECT_EQ(found[320], std::byte{100});
        EXPECT_EQ(found[336], std::byte{101});
        EXPECT_EQ(found[352], std::byte{1});
    }
}

// An older value may come to the file later than the newer one, also the second time.
void expect_another_handles_write_survives(bool read_before) {
    TemporaryFile const file;
    file.fill(initial_contents(3200));
    ThreadTeams teams{make_topology({0, 0})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Dealt dealt{team, rendezvous, file, ""};
        dealt.online();
        if (read_before) {
            dealt.call(Direction::read, {0, 1600});
            dealt.memory.assign(1600, std::byte(team.rank() + 1));
        }
        dealt.call(Direction::write, {0, 1600});  // three blocks are full, and on their way
        wait_for_all(rendezvous);
        for (auto const value : {std::byte{8}, std::byte{9}}) {
            std::vector<std::byte> newer(16, value);
            auto const at = 320 + 16 * std::uint64_t{team.rank()};
            auto const request =
                request_for(Direction::write, {make_dense(1), 0, 1}, {at, at + 16}, newer);
            dealt.cache.take_note_of(request, request.positions);
            wait_for_all(rendezvous);
            CallRecord record;
            if (value == std::byte{9}) dealt.cache.drain(record);
        }
    });
    auto const found = file.contents();
    ASSERT_EQ(found.size(), 3200u);
    EXPECT_EQ(found[319], std::byte{2});
    for (std::size_t at = 320; at < 352; ++at) ASSERT_EQ(found[at], std::byte{9}) << at;
    EXPECT_EQ(found[352], std::byte{1});
}

TEST(Cached, what_another_handle_has_written_survives_what_is_on_its_way) {
    expect_another_handles_write_survives(/*read_before=*/false);
}

TEST(Cached, what_another_handle_has_written_survives_also_where_the_block_was_read) {
    expect_another_handles_write_survives(/*read_before=*/true);
}

using PastTheBuffers = OnNodes;

INSTANTIATE_TEST_SUITE_P(Nodes, PastTheBuffers, testing::Values(one_node, two_nodes),
                         name_of_nodes);

// As a native call does, when the buffers hold what was read only.
void write_natively(SmallCalls& calls, TemporaryFile const& file, std::uint64_t at) {
    ASSERT_TRUE(calls.cache.prepare_bypass());
    auto const newest = std::byte{77};
    ASSERT_EQ(pwrite(file.descriptor(), &newest, 1, off_t(at)), 1);
}

TEST_P(PastTheBuffers, an_independent_read_sees_what_its_rank_wrote_natively) {
    file.fill(initial_contents(400));
    run([&](SmallCalls& calls, std::uint32_t rank) {
        std::vector<std::byte> back(100);
        calls.collective(Direction::read, rank * 200, back);
        write_natively(calls, file, rank * 200 + 5);
        calls.read_alone(rank * 200, back);
        EXPECT_EQ(back[5], std::byte{77});
    });
}

TEST_P(PastTheBuffers, an_older_independent_write_does_not_reach_the_file_again) {
    file.fill(initial_contents(400));
    run([&](SmallCalls& calls, std::uint32_t rank) {
        std::vector<std::byte> bytes(100);
        calls.collective(Direction::read, rank * 200, bytes);
        bytes.assign(100, std::byte{66});
        calls.write_alone(rank * 200, bytes);
        write_natively(calls, file, rank * 200 + 5);
    });
    auto const found = file.contents();
    for (auto const at : {5, 205}) EXPECT_EQ(found[std::size_t(at)], std::byte{77});
    EXPECT_EQ(found[299], std::byte{66});
}

TEST_P(PastTheBuffers, an_independent_write_of_what_is_in_no_buffer_is_not_kept) {
    run([&](SmallCalls& calls, std::uint32_t rank) {
        std::vector<std::byte> bytes(100, std::byte{65});
        calls.collective(Direction::write, rank * 200, bytes);
        bytes.assign(100, std::byte{66});
        calls.write_alone(5000 + rank * 200, bytes);
        auto const newest = std::byte{77};  // of another program
        ASSERT_EQ(pwrite(file.descriptor(), &newest, 1, off_t(5000 + rank * 200)), 1);
    });
    auto const found = file.contents();
    for (auto const at : {5000, 5200}) EXPECT_EQ(found[std::size_t(at)], std::byte{77});
    EXPECT_EQ(found[5299], std::byte{66});
}

TEST_P(PastTheBuffers, an_independent_write_to_a_block_that_was_given_up_is_read) {
    run([&](SmallCalls& calls, std::uint32_t rank) {
        calls.options.pool_bytes = 1000;
        std::vector<std::byte> bytes(100, std::byte{65});
        for (auto const block : {0, 2, 4})
            calls.collective(Direction::write, block * 1000u + rank * 200, bytes);
        std::vector<std::byte> newer(50, std::byte{66});
        calls.write_alone(rank * 200, newer);
        calls.read_alone(rank * 200, bytes);
        EXPECT_EQ(bytes[49], std::byte{66});
        EXPECT_EQ(bytes[50], std::byte{65});
    });
    EXPECT_EQ(file.contents()[0], std::byte{66});
}

// Rank 1 comes to the drain once another thread of rank 0 has got through.
TEST(Cached, a_rank_that_waits_for_other_nodes_to_drain_lets_its_other_threads_go_on) {
    TemporaryFile const file;
    std::atomic<bool> read = false;
    ThreadTeams teams{make_topology(two_nodes)};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        SmallCalls calls{team, rendezvous, file};
        calls.write(0);
        CallRecord record;
        std::thread other;
        if (team.rank() == 0)
            other = std::thread{[&] {
                std::this_thread::sleep_for(std::chrono::milliseconds{50});
                std::vector<std::byte> back(record_bytes);
                calls.read_alone(0, back);
                read = true;
            }};
        while (team.rank() == 1 && !read) std::this_thread::yield();
        calls.cache.drain(record);
        if (other.joinable()) other.join();
    });
    EXPECT_EQ(file.contents()[0], value_of(0, 0));
}

TEST_P(PastTheBuffers, a_collective_read_sees_what_its_rank_wrote_independently) {
    file.fill(initial_contents(400));
    run([&](SmallCalls& calls, std::uint32_t rank) {
        std::vector<std::byte> bytes(100);
        calls.collective(Direction::read, rank * 200, bytes);
        bytes.assign(50, std::byte{66});
        calls.write_alone(rank * 200 + 10, bytes);
        calls.collective(Direction::read, rank * 200, bytes);
        EXPECT_EQ(bytes[9], content(rank * 200 + 9));
        EXPECT_EQ(bytes[10], std::byte{66});
    });
}

}  // namespace
}  // namespace unisono
