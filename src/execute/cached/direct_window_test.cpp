#include <array>

#include "execute/cached/small_calls.hpp"

namespace unisono {
namespace {

/// One contiguous piece a rank and call, without a hint.
class DirectWindow : public OnNodes {
protected:
    static constexpr int failing = 4;  // the call that has an error

    static std::string failure_at(std::uint64_t offset, std::string const& error) {
        return "write@" + std::to_string(offset) + "=" + error;
    }
    static void let_it_choose(SmallCalls& calls) { calls.options.strategy = "auto"; }
    /// Of the first calls, how many were done alone.
    static int alone_of(int calls, SmallCalls& writer, std::uint64_t bytes = record_bytes) {
        int alone = 0;
        for (int call = 0; call < calls; ++call) alone += writer.write(call, bytes).local ? 1 : 0;
        return alone;
    }
    static void expect_alone(SmallCalls const& calls, Outcome const& outcome) {
        EXPECT_TRUE(outcome.local);
        EXPECT_EQ(outcome.strategy, "independent");
        EXPECT_EQ(calls.record.traffic.meetings, 0u);
        EXPECT_EQ(calls.record.traffic.barriers, 0u);
    }
    [[nodiscard]] std::byte in_file(int call, std::uint32_t rank) const {
        std::byte found{};
        auto const at = off_t(offset_of(call, rank));
        return pread(file.descriptor(), &found, 1, at) == 1 ? found : std::byte{};
    }
};

INSTANTIATE_TEST_SUITE_P(Nodes, DirectWindow, testing::Values(one_node, two_nodes), name_of_nodes);

// Were it to wait, the test would hang: the other rank makes its calls when all of this one's are
// over. A program that is killed then loses nothing.
TEST_P(DirectWindow, a_rank_waits_for_nobody_and_what_it_wrote_is_in_the_file) {
    std::atomic<bool> first_is_done = false;
    run([&](SmallCalls& writer, std::uint32_t rank) {
        let_it_choose(writer);
        for (int call = 0; call < 2; ++call) writer.write(call);
        while (rank == 1 && !first_is_done) std::this_thread::yield();
        for (int call = 2; call < 10; ++call) {
            auto const outcome = writer.write(call);
            EXPECT_EQ(outcome.bytes, record_bytes);
            expect_alone(writer, outcome);
            EXPECT_EQ(in_file(call, rank), value_of(rank, call));
        }
        if (rank == 0) first_is_done = true;
        EXPECT_TRUE(writer.cache.prepare_bypass()) << "nothing is in memory";
    });
}

TEST_P(DirectWindow, reads_wait_for_nobody) {
    file.fill(initial_contents(10 * small_ranks * record_bytes));
    run([&](SmallCalls& reader, std::uint32_t rank) {
        let_it_choose(reader);
        for (std::uint64_t call = 0; call < 10; ++call) {
            auto const at = offset_of(call, rank);
            std::vector<std::byte> back(record_bytes);
            auto const outcome = reader.collective(Direction::read, at, back);
            EXPECT_EQ(outcome.bytes, record_bytes);
            EXPECT_EQ(back[99], content(at + 99));
            if (call >= 2) expect_alone(reader, outcome);
        }
    });
}

TEST_P(DirectWindow, an_error_is_told_to_its_rank_at_once_and_to_all_at_the_drain) {
    auto const offset = offset_of(failing, 1) + 30;
    run(
        [&](SmallCalls& writer, std::uint32_t rank) {
            let_it_choose(writer);
            for (int call = 0; call < 8; ++call) {
                auto const outcome = writer.write(call);
                auto const fails = rank == 1 && call == failing;
                EXPECT_EQ(outcome.verdict.code, fails ? ENOSPC : 0);
                EXPECT_EQ(outcome.bytes, fails ? 30 : record_bytes);
            }
            CallRecord record;
            writer.cache.drain(record);
            auto const error = writer.cache.take_error();
            EXPECT_EQ(error.code, ENOSPC);
            EXPECT_EQ(error.rank, 1u);
            EXPECT_EQ(error.offset, offset);
            EXPECT_EQ(error.lost_end, offset + 70);
            EXPECT_EQ(error.lost_bytes, 70u);
            writer.cache.drain(record);
            EXPECT_EQ(writer.cache.take_error().code, 0) << "told once";
        },
        failure_at(offset, "ENOSPC"));
}

// Were it to count otherwise, one rank would agree on a call that the other does by itself.
TEST_P(DirectWindow, who_begins_directly_agrees_when_the_others_do) {
    constexpr int calls = 100;
    std::array<int, small_ranks> agreed{};
    run([&](SmallCalls& writer, std::uint32_t rank) {
        let_it_choose(writer);
        for (int call = 0; call < calls; ++call) {
            auto const at = offset_of(call, rank);
            std::vector<std::byte> data(record_bytes, value_of(rank, call));
            if (rank == 0 && writer.cache.begin_directly(Direction::write, {at, at + record_bytes},
                                                         steady_clock_s()))
                ASSERT_EQ(pwrite(file.descriptor(), data.data(), record_bytes, off_t(at)), 100);
            else
                agreed[rank] += writer.write(call).local ? 0 : 1;
        }
    });
    EXPECT_LT(agreed[0], 10);
    EXPECT_EQ(agreed[0], agreed[1]);
    for (int call = 0; call < calls; ++call)
        for (std::uint32_t rank = 0; rank < small_ranks; ++rank)
            EXPECT_EQ(in_file(call, rank), value_of(rank, call));
}

TEST_P(DirectWindow, nothing_begins_directly_that_does_not_go_on_like_before) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        let_it_choose(writer);
        for (int call = 0; call < 4; ++call) writer.write(call);
        auto const at = offset_of(4, rank);
        auto const begins = [&](Direction direction, std::uint64_t begin, std::uint64_t bytes) {
            return writer.cache.begin_directly(direction, {begin, begin + bytes}, steady_clock_s());
        };
        EXPECT_FALSE(begins(Direction::read, at, record_bytes));
        EXPECT_FALSE(begins(Direction::write, at, record_bytes - 1));
        EXPECT_FALSE(begins(Direction::write, offset_of(2, rank), record_bytes)) << "goes back";
        EXPECT_TRUE(begins(Direction::write, at, record_bytes));
        EXPECT_EQ(writer.write(5, record_bytes - 1).local, true);
        EXPECT_TRUE(begins(Direction::write, offset_of(6, rank), record_bytes - 1));
        writer.cache.end_window();
        EXPECT_FALSE(begins(Direction::write, offset_of(7, rank), record_bytes - 1));
    });
}

// A sync after the first calls must not keep the errors of later ones from the others.
TEST_P(DirectWindow, an_error_after_a_drain_is_told_to_all) {
    run(
        [&](SmallCalls& writer, std::uint32_t) {
            let_it_choose(writer);
            CallRecord record;
            for (int call = 0; call < failing; ++call) writer.write(call);
            writer.cache.drain(record);
            EXPECT_EQ(writer.cache.take_error().code, 0);
            auto const outcome = writer.write(failing);
            writer.cache.drain(record);
            auto const later = writer.cache.take_error();
            EXPECT_TRUE(outcome.verdict.code == EIO || later.code == EIO);
        },
        failure_at(offset_of(failing, 0), "EIO"));
}

// The error of a window is not lost when an agreed call comes before the sync.
TEST_P(DirectWindow, an_agreed_call_keeps_the_error_of_those_before_it) {
    run(
        [&](SmallCalls& writer, std::uint32_t) {
            let_it_choose(writer);
            for (int call = 0; call < 40; ++call) writer.write(call);
            CallRecord record;
            writer.cache.drain(record);
            EXPECT_EQ(writer.cache.take_error().code, EIO);
        },
        failure_at(offset_of(failing, 0), "EIO"));
}

// More than MPI promises without a sync, but so it was when each write was agreed on.
TEST_P(DirectWindow, a_read_after_it_waits_for_what_others_write) {
    file.fill(initial_contents(100 * record_bytes));
    run([&](SmallCalls& calls, std::uint32_t rank) {
        AheadOfAgreement ahead;
        calls.ahead = &ahead;
        let_it_choose(calls);
        std::vector<std::byte> back(record_bytes);
        calls.collective(Direction::read, offset_of(0, rank), back);
        for (int call = 0; call < 5; ++call) {
            if (rank == 1 && call == 4) std::this_thread::sleep_for(std::chrono::milliseconds{50});
            calls.write(call);
        }
        calls.collective(Direction::read, offset_of(4, 1 - rank), back);
        EXPECT_EQ(back[0], value_of(1 - rank, 4));
    });
}

TEST_P(DirectWindow, calls_with_a_new_view_are_agreed_on) {
    run([&](SmallCalls& writer, std::uint32_t) {
        let_it_choose(writer);
        for (int call = 0; call < 4; ++call) writer.write(call);
        writer.cache.note_new_views();
        EXPECT_FALSE(writer.write(4).local);
    });
}

// HDF5 sets a view before and after each call.
TEST_P(DirectWindow, one_that_nobody_has_used_costs_the_next_call_no_meeting) {
    run([&](SmallCalls& writer, std::uint32_t) {
        AheadOfAgreement ahead;
        writer.ahead = &ahead;
        let_it_choose(writer);
        for (int call = 0; call < 6; ++call) {
            writer.write(call);
            EXPECT_EQ(writer.record.traffic.meetings, call == 0 ? 2u : 1u);
            EXPECT_FALSE(writer.cache.window_was_used());
            writer.cache.note_new_views();
        }
    });
}

TEST_P(DirectWindow, is_the_same_on_servers_and_on_the_nodes_own_file_system) {
    for (auto const& place : {&SmallCalls::be_near, &SmallCalls::be_far_away})
        run([&](SmallCalls& writer, std::uint32_t) {
            let_it_choose(writer);
            (writer.*place)();
            EXPECT_EQ(alone_of(10, writer), 8);
        });
}

TEST_P(DirectWindow, large_calls_stay_agreed_on_unless_asked_for) {
    constexpr std::uint64_t large = (256 << 10) + 1;
    run([&](SmallCalls& writer, std::uint32_t) {
        let_it_choose(writer);
        writer.options.cb_write = Switch::disable;
        EXPECT_EQ(alone_of(4, writer, large), 0);
        writer.options.write_behind = Switch::enable;
        writer.be_near();
        EXPECT_EQ(alone_of(4, writer, large), 2) << "from the third on";
    });
}

// What is tried, or measured call by call as in the paper, is agreed on.
TEST_P(DirectWindow, is_measured_as_a_whole) {
    run([&](SmallCalls& writer, std::uint32_t) {
        let_it_choose(writer);
        writer.options.select = "measured";
        EXPECT_GT(alone_of(100, writer), 50);
    });
    run([&](SmallCalls& writer, std::uint32_t) {
        let_it_choose(writer);
        writer.options.select = "orthrus";
        EXPECT_EQ(alone_of(100, writer), 0);
    });
}

TEST_P(DirectWindow, can_be_forbidden) {
    run([&](SmallCalls& writer, std::uint32_t) {
        let_it_choose(writer);
        writer.options.write_behind = Switch::disable;
        EXPECT_EQ(alone_of(10, writer), 0);
    });
}

// Nothing is read ahead between nodes; blocks there are read by one rank and sent.
TEST_P(DirectWindow, is_what_read_ahead_comes_to_between_nodes) {
    file.fill(initial_contents(10 * small_ranks * record_bytes));
    run([&](SmallCalls& reader, std::uint32_t rank) {
        let_it_choose(reader);
        reader.be_far_away();
        reader.options.read_ahead = Switch::enable;
        std::vector<std::byte> back(record_bytes);
        for (std::uint64_t call = 0; call < 4; ++call) {
            auto const outcome = reader.collective(Direction::read, offset_of(call, rank), back);
            EXPECT_EQ(outcome.strategy, GetParam() == two_nodes ? "independent" : "view_based");
        }
    });
}

}  // namespace
}  // namespace unisono
