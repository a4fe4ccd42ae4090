#include "execute/cached/small_calls.hpp"

namespace unisono {
namespace {

using Deposit = OnNodes;

INSTANTIATE_TEST_SUITE_P(Nodes, Deposit, testing::Values(one_node, two_nodes), name_of_nodes);

void expect_records(TemporaryFile const& file, int calls) {
    auto const found = file.contents();
    ASSERT_EQ(found.size(), std::uint64_t(calls) * small_ranks * record_bytes);
    for (std::size_t at = 0; at < found.size(); ++at) {
        auto const number = at / record_bytes;
        ASSERT_EQ(found[at], value_of(number % small_ranks, int(number / small_ranks)))
            << "offset " << at;
    }
}

// Were it to wait, the test would hang: the other rank makes its calls when all of this one's are
// over.
TEST_P(Deposit, a_rank_that_repeats_its_writes_waits_for_nobody) {
    constexpr int agreed = 2;
    constexpr int calls = 10;
    std::atomic<bool> first_is_done = false;
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (int call = 0; call < agreed; ++call) writer.write(call);
        while (rank == 1 && !first_is_done) std::this_thread::yield();
        for (int call = agreed; call < calls; ++call) {
            auto const outcome = writer.write(call);
            EXPECT_EQ(outcome.bytes, record_bytes);
            EXPECT_EQ(outcome.strategy, "view_based");
            EXPECT_EQ(writer.record.traffic.meetings, 0u) << call;
            EXPECT_EQ(writer.record.traffic.barriers, 0u) << call;
        }
        if (rank == 0) first_is_done = true;
    });
    expect_records(file, calls);
}

TEST_P(Deposit, many_calls_agree_now_and_then_and_lose_nothing) {
    constexpr int calls = 2000;
    run([&](SmallCalls& writer, std::uint32_t) {
        std::uint64_t meetings = 0;
        for (int call = 0; call < calls; ++call) {
            EXPECT_EQ(writer.write(call).bytes, record_bytes);
            meetings += writer.record.traffic.meetings;
        }
        EXPECT_LT(meetings, 300u);  // each agreed call has two
        EXPECT_GT(meetings, 4u);    // not one round through the pool without them
    });
    expect_records(file, calls);
}

// Also those that one window begins and the next one fills.
TEST_P(Deposit, blocks_are_written_once_and_whole) {
    constexpr std::uint64_t calls = 1000;
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (std::uint64_t call = 0; call < calls; ++call) writer.write(int(call));
        CallRecord record;
        writer.cache.drain(record);
        auto const own_blocks = calls * small_ranks * record_bytes / 1000 / 2;
        // Whoever has an agreed call's last byte makes the file so long with it.
        auto const agreed_calls = calls / 18 + 2;
        EXPECT_LE((*writer.counts)[Direction::write].extents,
                  own_blocks + (rank == 1 ? agreed_calls : 1));
        EXPECT_GE((*writer.counts)[Direction::write].extents, own_blocks);
    });
    expect_records(file, calls);
}

TEST_P(Deposit, a_full_block_is_written_before_anybody_agrees) {
    run([&](SmallCalls& writer, std::uint32_t) {
        for (int call = 0; call < 11; ++call) writer.write(call);
        Verdict nothing;
        writer.rendezvous().meet(nothing);  // the block is full, and its owner has another call
        writer.write(11);
        EXPECT_EQ(writer.record.traffic.meetings, 0u);
        writer.rendezvous().meet(nothing);
        auto const found = file.contents();
        ASSERT_GE(found.size(), 1000u);
        EXPECT_EQ(found[999], value_of(1, 4));
        writer.rendezvous().meet(nothing);
    });
    expect_records(file, 12);
}

TEST_P(Deposit, what_does_not_fit_is_written_by_its_rank_alone) {
    constexpr std::uint64_t far = 100000;
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (int call = 0; call < 3; ++call) writer.write(call);
        std::vector<std::byte> elsewhere(7, std::byte{200});
        auto const outcome =
            rank == 1 ? writer.collective(Direction::write, far, elsewhere) : writer.write(3);
        EXPECT_EQ(outcome.verdict.code, 0);
        EXPECT_EQ(outcome.bytes, rank == 1 ? 7u : record_bytes);
        for (int call = 4; call < 8; ++call) writer.write(call);
    });
    auto const found = file.contents();
    ASSERT_EQ(found.size(), far + 7);
    EXPECT_EQ(found[far + 6], std::byte{200});
    EXPECT_EQ(found[3 * 200], value_of(0, 3));
    EXPECT_EQ(found[3 * 200 + 100], std::byte{0});  // nobody asked for it
    EXPECT_EQ(found[7 * 200 + 199], value_of(1, 7));
}

// Between nodes nobody else knows its view then.
TEST_P(Deposit, a_rank_that_had_nothing_to_write_may_have_something) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (int call = 0; call < 10; ++call)
            EXPECT_EQ(writer.write(call, rank == 1 && call < 5 ? 0 : record_bytes).verdict.code, 0);
    });
    auto const found = file.contents();
    ASSERT_EQ(found.size(), 10 * 200u);
    EXPECT_EQ(found[4 * 200 + 100], std::byte{0});
    for (std::size_t call = 5; call < 10; ++call)
        EXPECT_EQ(found[call * 200 + 199], value_of(1, int(call)));
}

// A header that is written twice says nothing about the calls to come.
TEST_P(Deposit, few_calls_go_alone_when_the_program_does_something_else) {
    constexpr int calls = 60;
    run([&](SmallCalls& writer, std::uint32_t) {
        writer.write(0);
        writer.write(0);
        int alone = 0;
        for (int call = 1; call <= 10; ++call) {
            writer.write(call);
            alone += writer.record.traffic.meetings == 0 ? 1 : 0;
        }
        EXPECT_EQ(alone, 8 + 1);
        for (int call = 11; call < calls; ++call) writer.write(call);
    });
    expect_records(file, calls);
}

TEST_P(Deposit, a_rank_may_have_nothing_to_write) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (int call = 0; call < 10; ++call)
            EXPECT_EQ(writer.write(call, rank == 1 ? 0 : record_bytes).bytes,
                      rank == 1 ? 0 : record_bytes);
    });
    auto const found = file.contents();
    ASSERT_EQ(found.size(), 9 * 200 + record_bytes);
    EXPECT_EQ(found[9 * 200], value_of(0, 9));
    EXPECT_EQ(found[8 * 200 + 100], std::byte{0});
}

// The older one goes straight to the file, and once more at the drain.
TEST_P(Deposit, a_later_deposit_wins_over_an_independent_write) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        writer.promise_not_to_read();
        for (int call = 0; call < 3; ++call) writer.write(call);
        std::vector<std::byte> older(record_bytes, std::byte{250});
        auto const at = offset_of(3, rank);
        EXPECT_EQ(writer.write_alone(at, older).bytes, record_bytes);
        writer.write(3);
    });
    expect_records(file, 4);
}

TEST_P(Deposit, a_rank_sees_its_own_bytes_and_a_file_that_has_them) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (int call = 0; call < 4; ++call) writer.write(call);
        auto const end = offset_of(3, rank) + record_bytes;
        EXPECT_FALSE(writer.cache.settle_size().error);
        EXPECT_GE(file.contents().size(), end);
        std::vector<std::byte> back(record_bytes);
        EXPECT_EQ(writer.read_alone(end - record_bytes, back).bytes, record_bytes);
        EXPECT_EQ(back, std::vector<std::byte>(record_bytes, value_of(rank, 3)));
    });
    expect_records(file, 4);
}

// What an aggregator reads ends where the file does.
TEST_P(Deposit, a_collective_read_goes_as_far_as_deposits_do) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (int call = 0; call < 3; ++call) writer.write(call);
        writer.write(3, rank == 0 ? 0 : record_bytes);  // a hole, and the end
        std::vector<std::byte> back(8 * record_bytes);
        auto const at = rank == 0 ? 0 : 4 * record_bytes;
        auto const outcome = writer.collective(Direction::read, at, back);
        EXPECT_EQ(outcome.bytes, 8 * record_bytes - at);
        EXPECT_EQ(back[7 * record_bytes - at], value_of(1, 3));
        EXPECT_EQ(back[6 * record_bytes - at], std::byte{0});
    });
}

TEST_P(Deposit, a_collective_read_sees_what_everybody_deposited) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (int call = 0; call < 8; ++call) writer.write(call);
        std::vector<std::byte> back(record_bytes);
        auto const other = 1 - rank;
        EXPECT_EQ(writer.collective(Direction::read, offset_of(7, other), back).bytes,
                  record_bytes);
        EXPECT_EQ(back, std::vector<std::byte>(record_bytes, value_of(other, 7)));
        EXPECT_FALSE(writer.cache.in_window(Direction::write));
    });
    expect_records(file, 8);
}

TEST_P(Deposit, an_error_of_the_file_is_told_to_all_at_the_drain_with_what_is_lost) {
    run(
        [&](SmallCalls& writer, std::uint32_t) {
            for (int call = 0; call < 8; ++call) EXPECT_EQ(writer.write(call).verdict.code, 0);
            CallRecord record;
            writer.cache.drain(record);
            auto const error = writer.cache.take_error();
            EXPECT_EQ(error.code, ENOSPC);
            EXPECT_EQ(error.offset, 700u);
            EXPECT_EQ(error.lost_bytes, 300u);
        },
        "write@700=ENOSPC");
}

// Such a write goes to the file at once, and fails on its rank alone.
TEST_P(Deposit, an_error_of_a_write_that_does_not_fit_is_told_to_all_at_the_drain) {
    run(
        [&](SmallCalls& writer, std::uint32_t rank) {
            for (int call = 0; call < 4; ++call) writer.write(call);
            std::vector<std::byte> far(record_bytes);
            auto const outcome =
                rank == 0 ? writer.collective(Direction::write, 1 << 30, far) : writer.write(4);
            EXPECT_EQ(outcome.verdict.code, rank == 0 ? EIO : 0);
            CallRecord record;
            writer.cache.drain(record);
            EXPECT_EQ(writer.cache.take_error().code, EIO);
        },
        "write@1073741830=EIO");
}

TEST_P(Deposit, wrong_arguments_are_told_to_their_rank_alone) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        for (int call = 0; call < 3; ++call) writer.write(call);
        writer.refusal = rank == 1 ? 7 : 0;
        EXPECT_EQ(writer.write(3).refusal, rank == 1 ? 7 : 0);
        for (int call = 4; call < 40; ++call) EXPECT_EQ(writer.write(call).refusal, 0);
    });
    auto const found = file.contents();
    ASSERT_EQ(found.size(), 40 * 200u);
    EXPECT_EQ(found[3 * 200 + 99], value_of(0, 3));
    EXPECT_EQ(found[3 * 200 + 100], std::byte{0});
    EXPECT_EQ(found[4 * 200 + 199], value_of(1, 4));
}

// How many of the records of these calls the file lacks.
std::uint64_t missing_records(TemporaryFile const& file, std::span<int const> calls) {
    auto const found = file.contents();
    std::uint64_t missing = 0;
    for (auto const call : calls)
        for (std::uint32_t rank = 0; rank < small_ranks; ++rank) {
            auto const last = offset_of(call, rank) + record_bytes - 1;
            if (last >= found.size() || found[last] != value_of(rank, call)) ++missing;
        }
    return missing;
}

// Blocks of 1000, with holes, so that none is ever full; with the bound they shrink to 750.
TEST_P(Deposit, what_is_in_memory_only_is_bounded_in_bytes) {
    constexpr std::uint64_t most = 3000;
    std::vector<int> ascending, jumping, back;
    for (int call = 0; call < 100; ++call) {
        ascending.push_back(2 * call);
        jumping.push_back(call % 3 * 500 + 2 * call);
        back.push_back(200 - 2 * call);
    }
    auto const lost_at_most = [&](std::vector<int> const& order, std::uint64_t bound) {
        std::atomic<std::uint64_t> records = 0;
        file.fill({});
        run([&](SmallCalls& writer, std::uint32_t rank) {
            writer.options.write_behind_bytes = bound;
            Verdict nothing;
            for (std::size_t done = 1; done <= order.size(); ++done) {
                writer.write(order[done - 1]);
                writer.rendezvous().meet(nothing);
                if (rank == 0)
                    records = std::max(records.load(), missing_records(file, {order.data(), done}));
                writer.rendezvous().meet(nothing);
            }
        });
        return records * record_bytes;
    };
    for (auto const& order : {ascending, jumping, back}) EXPECT_LE(lost_at_most(order, most), most);
    EXPECT_GT(lost_at_most(ascending, 0), most) << "else the test could not fail";
}

TEST_P(Deposit, the_bound_in_bytes_leaves_windows) {
    run([&](SmallCalls& writer, std::uint32_t) {
        writer.options.write_behind_bytes = 8000;
        std::uint64_t meetings = 0;
        for (int call = 0; call < 200; ++call) {
            writer.write(call);
            meetings += writer.record.traffic.meetings;
        }
        EXPECT_LT(meetings, 60u);
    });
    expect_records(file, 200);
}

TEST_P(Deposit, a_large_call_is_in_the_file_when_it_is_over) {
    run([&](SmallCalls& writer, std::uint32_t rank) {
        writer.options.write_behind_bytes = 3000;
        std::vector<std::byte> data(5000, value_of(rank, 0));
        writer.collective(Direction::write, rank * data.size(), data);
        Verdict nothing;
        writer.rendezvous().meet(nothing);
        auto const found = file.contents();
        EXPECT_EQ(std::ranges::count(found, value_of(0, 0)), 5000);
        EXPECT_EQ(std::ranges::count(found, value_of(1, 0)), 5000);
        writer.rendezvous().meet(nothing);
    });
}

std::atomic<double> pretended_s;

// Whoever has the block writes it in its first call after that time.
TEST_P(Deposit, what_is_in_memory_only_is_bounded_in_seconds) {
    pretended_s = 0;
    run([&](SmallCalls& writer, std::uint32_t rank) {
        writer.clock = [] { return pretended_s.load(); };
        writer.options.write_behind_s = 5;
        Verdict nothing;
        auto const write = [&](int call, double at_s) {
            writer.rendezvous().meet(nothing);
            if (rank == 0) pretended_s = at_s;
            writer.rendezvous().meet(nothing);
            writer.write(call);
            writer.rendezvous().meet(nothing);
        };
        for (int call = 0; call < 4; ++call) write(call, call);
        EXPECT_EQ(writer.record.traffic.meetings, 0u);
        std::vector const calls{2, 3};
        EXPECT_GT(missing_records(file, calls), 0u);
        write(4, 7);
        EXPECT_EQ(missing_records(file, calls), 0u);
        write(5, 8);
        EXPECT_EQ(writer.record.traffic.meetings, 0u);
        EXPECT_GT(missing_records(file, std::vector{5}), 0u);
        write(6, 13);
        EXPECT_EQ(missing_records(file, std::vector{5}), 0u);
    });
    expect_records(file, 7);
}

// As with nothing set but how much may be lost, on a file that nobody reads and servers have.
TEST_P(Deposit, small_writes_that_repeat_soon_need_only_the_bound) {
    pretended_s = 0;
    run([&](SmallCalls& writer, std::uint32_t) {
        writer.options.strategy = "auto";
        writer.options.write_behind_bytes = 32 << 20;
        writer.promise_not_to_read();
        writer.be_far_away();
        writer.clock = [] { return pretended_s.load(); };
        for (int call = 0; call < 10; ++call)
            EXPECT_EQ(writer.write(call).strategy == "view_based", call >= 2) << call;
    });
    expect_records(file, 10);
}

// HDF5 (1.10) sets a view after each collective write; then rank 0 reads for all what others wrote.
TEST_P(Deposit, a_new_view_between_nodes_puts_what_was_written_into_the_file) {
    run([&](SmallCalls& writer, std::uint32_t) {
        std::vector const calls{0, 1, 2, 3};
        for (auto const call : calls) writer.write(call);
        writer.cache.note_new_views();
        if (GetParam() == two_nodes) {
            EXPECT_EQ(missing_records(file, calls), 0u);
        }
        EXPECT_EQ(writer.cache.holds_writes(), GetParam() == one_node);
    });
}

TEST_P(Deposit, writes_that_come_now_and_then_stay_agreed_on) {
    pretended_s = 0;
    run([&](SmallCalls& writer, std::uint32_t rank) {
        writer.options.strategy = "auto";
        writer.options.write_behind_bytes = 32 << 20;
        writer.promise_not_to_read();
        writer.be_far_away();
        writer.clock = [] { return pretended_s.load(); };
        Verdict nothing;
        for (int call = 0; call < 10; ++call) {
            EXPECT_NE(writer.write(call).strategy, "view_based") << call;
            writer.rendezvous().meet(nothing);
            if (rank == 0) pretended_s = 60.0 * (call + 1);
            writer.rendezvous().meet(nothing);
        }
    });
    expect_records(file, 10);
}

TEST_P(Deposit, can_be_switched_off) {
    run([&](SmallCalls& writer, std::uint32_t) {
        writer.options.write_behind = Switch::disable;
        for (int call = 0; call < 5; ++call) {
            writer.write(call);
            EXPECT_EQ(writer.record.traffic.meetings, 2u);
        }
    });
    expect_records(file, 5);
}

}  // namespace
}  // namespace unisono
