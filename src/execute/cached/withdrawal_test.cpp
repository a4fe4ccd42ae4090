#include <barrier>

#include "execute/cached/small_calls.hpp"

namespace unisono {
namespace {

// Reads by the record, as SmallCalls writes them.
class Withdrawal : public OnNodes {
protected:
    static constexpr int calls = 60;

    Withdrawal() { file.fill(initial_contents(calls * small_ranks * record_bytes)); }

    /// Reads a call's record, and looks whether it is the file's.
    static void expect_read(SmallCalls& reader, int call, std::uint32_t rank) {
        std::vector<std::byte> back(record_bytes);
        auto const at = offset_of(call, rank);
        auto const outcome = reader.collective(Direction::read, at, back);
        EXPECT_EQ(outcome.verdict.code, 0);
        EXPECT_EQ(outcome.bytes, record_bytes);
        for (std::size_t i = 0; i < back.size(); ++i)
            ASSERT_EQ(back[i], content(at + i)) << "call " << call << ", byte " << i;
    }
};

INSTANTIATE_TEST_SUITE_P(Nodes, Withdrawal, testing::Values(one_node), name_of_nodes);

using BetweenNodes = Withdrawal;
INSTANTIATE_TEST_SUITE_P(Nodes, BetweenNodes, testing::Values(two_nodes), name_of_nodes);

// Were it to wait, the test would hang: the other rank makes its calls when all of this one's are
// over.
TEST_P(Withdrawal, a_rank_that_repeats_its_reads_waits_for_nobody) {
    std::atomic<bool> first_is_done = false;
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 2; ++call) expect_read(reader, call, rank);
        while (rank == 1 && !first_is_done) std::this_thread::yield();
        for (int call = 2; call < 10; ++call) {
            expect_read(reader, call, rank);
            EXPECT_EQ(reader.record.traffic.meetings, 0u) << call;
            EXPECT_EQ(reader.record.traffic.barriers, 0u) << call;
        }
        if (rank == 0) first_is_done = true;
    });
}

TEST_P(Withdrawal, a_block_is_read_once_and_whole) {
    std::atomic<std::uint64_t> lists = 0;
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < calls; ++call) expect_read(reader, call, rank);
        lists += (*reader.counts)[Direction::read].lists;
    });
    // 12 blocks, and what the agreed calls need: the first, the second, and one after each window.
    EXPECT_LE(lists, 12u + 2 + 6);
}

TEST_P(BetweenNodes, every_read_is_agreed_on) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 10; ++call) {
            expect_read(reader, call, rank);
            EXPECT_EQ(reader.record.traffic.meetings, 2u);
        }
    });
}

TEST_P(Withdrawal, counts_are_true_at_the_end_of_the_file) {
    file.fill(initial_contents(offset_of(5, 1) + 30));
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 5; ++call) expect_read(reader, call, rank);
        std::vector<std::byte> back(record_bytes, std::byte{255});
        EXPECT_EQ(reader.collective(Direction::read, offset_of(5, rank), back).bytes,
                  rank == 1 ? 30 : record_bytes);
        EXPECT_EQ(back[29], content(offset_of(5, rank) + 29));
        EXPECT_EQ(back[30], rank == 1 ? std::byte{255} : content(offset_of(5, rank) + 30));
        EXPECT_EQ(reader.collective(Direction::read, offset_of(6, rank), back).bytes, 0u);
        EXPECT_EQ(reader.record.traffic.meetings, 0u);
    });
}

TEST_P(Withdrawal, the_end_of_the_file_is_looked_for_anew) {
    file.fill(initial_contents(offset_of(5, 0)));
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 5; ++call) expect_read(reader, call, rank);
        std::vector<std::byte> back(record_bytes);
        EXPECT_EQ(reader.collective(Direction::read, offset_of(5, rank), back).bytes, 0u);
        Verdict nothing;
        reader.rendezvous().meet(nothing);
        if (rank == 0) file.fill(initial_contents(offset_of(calls, 0)));
        reader.rendezvous().meet(nothing);
        expect_read(reader, 5, rank);
        EXPECT_EQ(reader.record.traffic.meetings, 0u);
    });
}

// A block that is there already, and one that is not.
TEST_P(Withdrawal, a_rank_sees_what_it_wrote_independently) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 3; ++call) expect_read(reader, call, rank);
        std::vector<std::byte> mine(10, std::byte(200 + rank));
        std::vector<std::byte> back(record_bytes);
        for (int call = 3; call < 7; ++call) {
            EXPECT_EQ(reader.write_alone(offset_of(call, rank) + 20, mine).bytes, 10u);
            EXPECT_EQ(reader.collective(Direction::read, offset_of(call, rank), back).bytes,
                      record_bytes);
            EXPECT_EQ(reader.record.traffic.meetings, 0u);
            EXPECT_EQ(back[19], content(offset_of(call, rank) + 19));
            EXPECT_EQ(back[20], mine[0]);
            EXPECT_EQ(back[29], mine[0]);
            EXPECT_EQ(back[30], content(offset_of(call, rank) + 30));
        }
    });
    EXPECT_EQ(file.contents()[offset_of(4, 1) + 20], std::byte{201});
}

TEST_P(Withdrawal, a_rank_sees_what_it_wrote_natively) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 4; ++call) expect_read(reader, call, rank);
        ASSERT_TRUE(reader.cache.prepare_bypass());
        auto const newest = std::byte{250};
        ASSERT_EQ(pwrite(file.descriptor(), &newest, 1, off_t(offset_of(4, rank))), 1);
        std::vector<std::byte> back(record_bytes);
        reader.collective(Direction::read, offset_of(4, rank), back);
        EXPECT_EQ(back[0], newest);
    });
}

// What is in memory is newer than the file.
TEST_P(Withdrawal, bytes_that_were_written_and_not_yet_flushed_are_read) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 8; ++call) reader.write(call);
        std::vector<std::byte> back(record_bytes);
        for (int call = 0; call < 8; ++call) {
            reader.collective(Direction::read, offset_of(call, 1 - rank), back);
            EXPECT_EQ(back, std::vector<std::byte>(record_bytes, value_of(1 - rank, call)));
        }
        EXPECT_EQ(reader.record.traffic.meetings, 0u);
    });
}

TEST_P(Withdrawal, a_write_ends_the_window_and_is_seen) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 5; ++call) expect_read(reader, call, rank);
        reader.write(5);
        std::vector<std::byte> back(record_bytes);
        reader.collective(Direction::read, offset_of(5, 1 - rank), back);
        EXPECT_EQ(reader.record.traffic.meetings, 2u);
        EXPECT_EQ(back[0], value_of(1 - rank, 5));
    });
}

TEST_P(Withdrawal, a_drain_forgets_what_was_read_ahead) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 4; ++call) expect_read(reader, call, rank);
        reader.cache.drain(reader.record);
        if (rank == 0) file.fill(std::vector<std::byte>(offset_of(calls, 0), std::byte{240}));
        Verdict nothing;
        reader.rendezvous().meet(nothing);
        std::vector<std::byte> back(record_bytes);
        reader.collective(Direction::read, offset_of(4, rank), back);
        EXPECT_EQ(back[0], std::byte{240});
    });
}

TEST_P(Withdrawal, what_does_not_fit_is_read_by_its_rank_alone) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 3; ++call) expect_read(reader, call, rank);
        expect_read(reader, rank == 1 ? calls - 1 : 3, rank);
        EXPECT_EQ(reader.record.traffic.meetings, 0u);
        for (int call = 4; call < 20; ++call) expect_read(reader, call, rank);
    });
}

// Nobody wants that byte, so it is no error; who does has it for himself.
TEST_P(Withdrawal, a_bad_byte_is_the_error_of_the_rank_that_asks_for_it) {
    run(
        [&](SmallCalls& reader, std::uint32_t rank) {
            for (int call = 0; call < 8; ++call) {
                if (call == 4) continue;
                expect_read(reader, call, rank);
            }
            std::vector<std::byte> back(record_bytes);
            auto const outcome = reader.collective(Direction::read, offset_of(4, rank), back);
            EXPECT_EQ(outcome.verdict.code, rank == 1 ? EIO : 0);
            EXPECT_EQ(outcome.bytes, rank == 1 ? 40 : record_bytes);
            EXPECT_EQ(reader.record.traffic.meetings, 0u);
        },
        "read@940=EIO");
}

// Every second byte of the file is asked for, or fewer.
TEST_P(Withdrawal, sparse_reads_are_agreed_on) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 10; ++call) {
            expect_read(reader, call * 3, rank);
            EXPECT_EQ(reader.record.traffic.meetings, 2u);
        }
    });
}

TEST_P(Withdrawal, wrong_arguments_are_told_to_their_rank_alone) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        for (int call = 0; call < 3; ++call) expect_read(reader, call, rank);
        reader.refusal = rank == 1 ? 7 : 0;
        std::vector<std::byte> back(record_bytes);
        EXPECT_EQ(reader.collective(Direction::read, offset_of(3, rank), back).refusal,
                  rank == 1 ? 7 : 0);
        for (int call = 4; call < 20; ++call) expect_read(reader, call, rank);
    });
}

// Blocks of a file that nobody can write through take turns in few buffers.
class Turns : public Withdrawal {
protected:
    static constexpr int many_calls = 400;

    Turns() { file.fill(initial_contents(many_calls * small_ranks * record_bytes)); }

    static void prepare(SmallCalls& reader) {
        reader.promise_not_to_write();
        reader.options.pool_bytes = 4000;
    }

    /// Once all have made the calls before: who is far ahead of another rank reads by itself after
    /// a while, and its next window is short.
    void expect_read_in_step(SmallCalls& reader, int call, std::uint32_t rank) {
        step.arrive_and_wait();
        expect_read(reader, call, rank);
    }
    std::barrier<> step{small_ranks};
};

INSTANTIATE_TEST_SUITE_P(Nodes, Turns, testing::Values(one_node), name_of_nodes);

TEST_P(Turns, a_window_is_longer_than_its_buffers) {
    std::atomic<std::uint64_t> meetings = 0;
    run([&](SmallCalls& reader, std::uint32_t rank) {
        prepare(reader);
        for (int call = 0; call < many_calls; ++call) {
            expect_read_in_step(reader, call, rank);
            meetings += reader.record.traffic.meetings;
        }
    });
    // Two agreed calls and one after each window: of 8, 32, 128 and 512 calls, or less.
    EXPECT_LE(meetings, small_ranks * 2 * 16u);
}

TEST_P(Turns, a_rank_that_is_far_ahead_waits_for_nobody) {
    std::atomic<bool> first_is_done = false;
    run([&](SmallCalls& reader, std::uint32_t rank) {
        prepare(reader);
        auto const agreed_after = 2 + 8 + 1;
        for (int call = 0; call < agreed_after; ++call) expect_read(reader, call, rank);
        while (rank == 1 && !first_is_done) std::this_thread::yield();
        for (int call = agreed_after; call < agreed_after + 32; ++call) {
            expect_read(reader, call, rank);
            EXPECT_EQ(reader.record.traffic.meetings, 0u) << call;
        }
        if (rank == 0) first_is_done = true;
        for (int call = agreed_after + 32; call < many_calls; ++call)
            expect_read(reader, call, rank);
    });
}

TEST_P(Turns, what_was_in_a_buffer_before_is_not_found_there) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        prepare(reader);
        for (int times = 0; times < 3; ++times)
            for (int call = 0; call < 60; ++call) expect_read(reader, call, rank);
        reader.cache.drain(reader.record);
        for (int call = 10; call < many_calls; ++call) expect_read(reader, call, rank);
    });
}

TEST_P(Turns, a_rank_sees_what_it_wrote_by_another_handle) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        prepare(reader);
        auto const call_with_write = 30;
        for (int call = 0; call < call_with_write; ++call) expect_read(reader, call, rank);
        std::vector<std::byte> mine(record_bytes, std::byte(200 + rank));
        reader.write_elsewhere(file, offset_of(call_with_write, rank), mine);
        std::vector<std::byte> back(record_bytes);
        reader.collective(Direction::read, offset_of(call_with_write, rank), back);
        EXPECT_EQ(back, mine);
        for (int call = call_with_write + 1; call < many_calls; ++call)
            expect_read(reader, call, rank);
    });
}

// It was found where it had been read before.
TEST_P(Turns, what_was_written_by_another_handle_is_seen_by_others_that_have_met) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        prepare(reader);
        auto const call_with_write = 30;
        for (int call = 0; call < call_with_write; ++call) expect_read(reader, call, rank);
        std::vector<std::byte> newer(record_bytes, std::byte{201});
        Verdict nothing;
        reader.rendezvous().meet(nothing);
        if (rank == 0) reader.write_elsewhere(file, offset_of(call_with_write, 1), newer);
        reader.rendezvous().meet(nothing);
        std::vector<std::byte> back(record_bytes);
        reader.collective(Direction::read, offset_of(call_with_write, rank), back);
        EXPECT_EQ(reader.record.traffic.meetings, 0u);
        if (rank == 1) {
            EXPECT_EQ(back, newer);
        }
        for (int call = call_with_write + 1; call < many_calls; ++call)
            expect_read(reader, call, rank);
    });
}

TEST_P(Turns, counts_are_true_at_the_end_of_the_file) {
    auto const last_call = 40;
    file.fill(initial_contents(offset_of(last_call, 1) + 30));
    run([&](SmallCalls& reader, std::uint32_t rank) {
        prepare(reader);
        for (int call = 0; call < last_call; ++call) expect_read(reader, call, rank);
        std::vector<std::byte> back(record_bytes, std::byte{255});
        EXPECT_EQ(reader.collective(Direction::read, offset_of(last_call, rank), back).bytes,
                  rank == 1 ? 30 : record_bytes);
        EXPECT_EQ(back[29], content(offset_of(last_call, rank) + 29));
        EXPECT_EQ(back[30], rank == 1 ? std::byte{255} : content(offset_of(last_call, rank) + 30));
        for (int call = last_call + 1; call < last_call + 20; ++call)
            EXPECT_EQ(reader.collective(Direction::read, offset_of(call, rank), back).bytes, 0u);
    });
}

// The ranks after it go on; so does it, with the calls that follow.
TEST_P(Turns, a_bad_byte_is_the_error_of_the_rank_that_asks_for_it) {
    auto const bad_call = 50;
    run(
        [&](SmallCalls& reader, std::uint32_t rank) {
            prepare(reader);
            for (int call = 0; call < bad_call; ++call) expect_read_in_step(reader, call, rank);
            std::vector<std::byte> back(record_bytes);
            auto const outcome =
                reader.collective(Direction::read, offset_of(bad_call, rank), back);
            EXPECT_EQ(outcome.verdict.code, rank == 1 ? EIO : 0);
            EXPECT_EQ(outcome.bytes, rank == 1 ? 40 : record_bytes);
            EXPECT_EQ(reader.record.traffic.meetings, 0u);
            for (int call = bad_call + 1; call < many_calls; ++call)
                expect_read(reader, call, rank);
        },
        "read@" + std::to_string(offset_of(bad_call, 1) + 40) + "=EIO");
}

// It waited for buffers whose turn would have come when it had gone on itself.
TEST_P(Turns, more_than_there_are_buffers_for_is_read_by_its_rank_in_one_go) {
    auto const large_call = 46;  // one of the first in its window
    std::atomic<bool> is_read = false;
    run([&](SmallCalls& reader, std::uint32_t rank) {
        prepare(reader);
        for (int call = 0; call < large_call; ++call) expect_read_in_step(reader, call, rank);
        while (rank == 0 && !is_read) std::this_thread::yield();
        auto const& lists = (*reader.counts)[Direction::read].lists;
        auto const before = lists.load();
        std::vector<std::byte> back(rank == 1 ? 20000 : record_bytes);
        auto const at = offset_of(large_call, rank);
        EXPECT_EQ(reader.collective(Direction::read, at, back).bytes, back.size());
        EXPECT_EQ(back.back(), content(at + back.size() - 1));
        EXPECT_EQ(reader.record.traffic.meetings, 0u);
        if (rank == 1) {
            EXPECT_EQ(lists - before, 1u);
            is_read = true;
        }
        for (int call = large_call + 1; call < many_calls; ++call) expect_read(reader, call, rank);
    });
}

TEST_P(Turns, a_rank_that_asks_for_nothing_holds_up_nobody) {
    std::atomic<std::uint64_t> lists = 0;
    run([&](SmallCalls& reader, std::uint32_t rank) {
        prepare(reader);
        std::vector<std::byte> none;
        for (int call = 0; call < many_calls; ++call) {
            step.arrive_and_wait();
            if (rank == 0)
                expect_read(reader, call, rank);
            else
                reader.collective(Direction::read, 0, none);
        }
        lists += (*reader.counts)[Direction::read].lists;
    });
    // 80 blocks, two reads of some, and what agreed calls need.
    EXPECT_LE(lists, 80u + 40);
}

TEST_P(Withdrawal, can_be_switched_off) {
    run([&](SmallCalls& reader, std::uint32_t rank) {
        reader.options.read_ahead = Switch::disable;
        for (int call = 0; call < 5; ++call) {
            expect_read(reader, call, rank);
            EXPECT_EQ(reader.record.traffic.meetings, 2u);
        }
    });
}

}  // namespace
}  // namespace unisono
