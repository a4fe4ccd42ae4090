// What Unisono's waits promise: MPI goes on meanwhile. Two ranks, one process each.
#include "interpose/mpi_team.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "backends/test_support.hpp"

namespace unisono::interpose {
namespace {

namespace fs = std::filesystem;

int rank_of_world() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

// A file whose name both ranks know: says something without MPI.
fs::path marker() {
    int number = static_cast<int>(getpid());
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return fs::path{testing::TempDir()} / ("unisono-team-" + std::to_string(number));
}

void wait_for_a_message_from(int rank, MPI_Comm comm) {
    for (int found = 0; found == 0;) MPI_Iprobe(rank, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
}

constexpr std::size_t long_bytes = std::size_t{64} << 20;

void receive_the_long_one(Team& team, fs::path const& arrived) {
    team.send(0, Team::Kind::data, Message(100));
    team.finish_sends(0);
    EXPECT_EQ(team.receive(0, Team::Kind::view).size(), long_bytes);
    std::ofstream{arrived} << "yes";
}

void send_the_long_one_idly(Team& team, fs::path const& arrived) {
    team.send(1, Team::Kind::view, Message(long_bytes));
    auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (!fs::exists(arrived) && std::chrono::steady_clock::now() < give_up) team.idle();
    EXPECT_TRUE(fs::exists(arrived)) << "no progress";
    team.finish_sends(0);
    EXPECT_EQ(team.receive(1, Team::Kind::data).size(), 100U);
    fs::remove(arrived);
}

// Rank 0 has a message waiting that it will receive later, and sends one that is too long to leave
// without its help. MPICH hung: its MPI_Iprobe found the first and did nothing for the second.
TEST(MpiTeam, idle_lets_messages_leave_while_another_one_waits_to_be_received) {
    auto const arrived = marker();
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        if (rank_of_world() == 1) {
            receive_the_long_one(team, arrived);
        } else {
            wait_for_a_message_from(1, comm);
            send_the_long_one_idly(team, arrived);
        }
    }
    MPI_Comm_free(&comm);
}

Message numbered(std::size_t bytes) {
    Message message(bytes);
    for (std::size_t at = 0; at < bytes; ++at) message[at] = static_cast<std::byte>(at * 31 >> 3);
    return message;
}

TEST(MpiTeam, messages_of_any_length_arrive_in_order_whole_or_in_fragments) {
    constexpr std::size_t fragment = 16 * 1024;
    constexpr std::array<std::size_t, 8> lengths{
        0, 1, fragment - 1, fragment, fragment + 1, 2 * fragment, 3 * fragment + 5, 1 << 20};
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        auto const other = 1 - team.rank();
        for (bool const fragments : {false, true, false})
            for (auto const bytes : lengths) {
                team.send_in_fragments(fragments);
                for (auto const kind : {Team::Kind::data, Team::Kind::answer})
                    team.send(other, kind, numbered(bytes));
            }
        bool from_any = false;  // and back, while others are half received
        for (int way = 0; way < 3; ++way)
            for (auto const kind : {Team::Kind::data, Team::Kind::answer})
                for (auto const bytes : lengths) {
                    auto const message =
                        from_any ? team.receive_next(kind).message : team.receive(other, kind);
                    EXPECT_EQ(message, numbered(bytes)) << bytes;
                    from_any = !from_any;
                }
        team.finish_sends(0);
    }
    MPI_Comm_free(&comm);
}

int bytes_of_next_from(int rank, MPI_Comm comm) {
    MPI_Status status;
    MPI_Probe(rank, MPI_ANY_TAG, comm, &status);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    return bytes;
}

// A machine whose ranks have no core each was taken for a slow network.
TEST(MpiTeam, who_is_on_one_machine_sends_whole_messages_however_long_they_take) {
    constexpr int bytes = 1 << 20;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        team.always_send_in_fragments(false);
        team.expect_messages(std::uint64_t{1} << 40, /*read_over_fast_links=*/false);
        if (team.rank() == 0) {
            team.send(1, Team::Kind::data, numbered(bytes));
        } else {
            EXPECT_EQ(bytes_of_next_from(0, comm), bytes);
            EXPECT_EQ(team.receive(0, Team::Kind::data), numbered(bytes));
        }
        team.finish_sends(0);
    }
    MPI_Comm_free(&comm);
}

// Over links of 10 Gbit/s answers took twice as long in fragments, a few at a time.
TEST(MpiTeam, over_fast_links_answers_went_in_fragments) {
    constexpr int bytes = 1 << 20;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (auto const told : {false, true}) {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        if (told)
            team.always_send_in_fragments(true);
        else
            team.send_in_fragments(true);
        team.expect_messages(1, /*read_over_fast_links=*/true);
        if (team.rank() == 0) {
            team.send(1, Team::Kind::data, numbered(bytes));
        } else {
            EXPECT_EQ(bytes_of_next_from(0, comm) == bytes, !told);
            EXPECT_EQ(team.receive(0, Team::Kind::data), numbered(bytes));
        }
        team.finish_sends(0);
    }
    MPI_Comm_free(&comm);
}

// MPI counts bytes by an int: messages of 2 GiB, of windows as large, ended the program.
TEST(MpiTeam, messages_that_are_too_long_to_go_whole_go_in_fragments) {
    constexpr int most = 100'000;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        team.send_whole_at_most(most);
        for (auto const bytes : {most, most + 1}) {
            if (team.rank() == 0) {
                team.send(1, Team::Kind::data, numbered(bytes));
                team.finish_sends(0);
            } else {
                EXPECT_EQ(bytes_of_next_from(0, comm) == bytes, bytes == most);
                EXPECT_EQ(team.receive(0, Team::Kind::data), numbered(bytes));
            }
        }
    }
    MPI_Comm_free(&comm);
}

// Answers to one rank are sent a few fragments at a time, also by who waits for a meeting.
TEST(MpiTeam, a_rank_that_goes_to_a_meeting_has_answered_first) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        auto const other = 1 - team.rank();
        team.send_in_fragments(true);
        std::array<std::uint64_t, 1> values{1};
        for (std::uint32_t const answers : {0U, 1U}) {
            if (team.rank() == answers)
                team.send(other, Team::Kind::answer, numbered(long_bytes));
            else
                EXPECT_EQ(team.receive(other, Team::Kind::answer), numbered(long_bytes));
            team.sum(values, Team::Among::all);
        }
        EXPECT_EQ(values[0], 4U);
    }
    MPI_Comm_free(&comm);
}

// Two rounds' answers may be on their way while their receiver waits for something else.
TEST(MpiTeam, who_waits_for_something_else_receives_answers) {
    auto const arrived = marker();
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        constexpr std::array<std::size_t, 2> lengths{3 << 20, 1 << 20};
        team.send_in_fragments(true);
        if (team.rank() == 0) {
            for (auto const bytes : lengths) team.send(1, Team::Kind::answer, numbered(bytes));
            team.finish_sends(1);
            team.finish_sends(0);
            std::ofstream{arrived} << "yes";
        } else {
            auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds{30};
            while (!fs::exists(arrived) && std::chrono::steady_clock::now() < give_up) team.idle();
            EXPECT_TRUE(fs::exists(arrived)) << "not received";
            for (auto const bytes : lengths)
                EXPECT_EQ(team.receive(0, Team::Kind::answer), numbered(bytes)) << bytes;
            fs::remove(arrived);
        }
    }
    MPI_Comm_free(&comm);
}

// Its later fragments came when there was no memory for them any more.
TEST(MpiTeam, a_team_may_end_while_a_message_is_half_received) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        team.send_in_fragments(true);
        if (team.rank() == 0) {
            team.send(1, Team::Kind::data, Message(long_bytes));
        } else {
            wait_for_a_message_from(0, comm);
            EXPECT_FALSE(team.receive_any(Team::Kind::data));
        }
    }
    MPI_Comm_free(&comm);
}

TEST(MpiTeam, messages_go_on_while_the_network_is_asked_and_tried) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {.messages_only = true})};
        auto const other = 1 - team.rank();
        team.send(other, Team::Kind::request, numbered(7));  // is not taken for one of the tries
        for (auto const mib : {1U, 1U, 1U, 1U, 1024U, 1U})
            team.expect_messages(std::uint64_t{mib} << 20, /*read_over_fast_links=*/mib % 2 == 0);
        EXPECT_EQ(team.receive(other, Team::Kind::request), numbered(7));
        EXPECT_EQ(team.traffic().messages, 1U);
    }
    MPI_Comm_free(&comm);
}

TEST(MpiTeam, the_kernel_and_mpi_tell_the_same_of_who_shares_a_machine) {
    auto const labels = introduce(MPI_COMM_WORLD, false).machine_labels;
    EXPECT_EQ(machine_labels_by_mpi(MPI_COMM_WORLD), labels);
    EXPECT_EQ(labels, (std::vector<std::uint32_t>{0, 0}));
}

TEST(MpiTeam, ranks_tell_each_other_whether_their_threads_call_mpi) {
    auto const of_one = introduce(MPI_COMM_WORLD, rank_of_world() == 1);
    EXPECT_TRUE(of_one.threads_of_some && !of_one.threads_of_all);
    auto const of_both = introduce(MPI_COMM_WORLD, true);
    EXPECT_TRUE(of_both.threads_of_some && of_both.threads_of_all);
    EXPECT_FALSE(introduce(MPI_COMM_WORLD, false).threads_of_some);
}

// The last test: what it forbids stays forbidden.
TEST(MpiTeam, ranks_of_a_node_without_shared_memory_are_nodes_of_their_own) {
    if (rank_of_world() == 0) forbid_system_call(SYS_memfd_create);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        MpiTeam team{comm, place_ranks({0, 0}, {})};
        EXPECT_EQ(team.topology().nodes(), 2U);
        EXPECT_GE(team.node_memory(Team::Area::windows, 100).size(), 100U);
    }
    MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace unisono::interpose

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    testing::InitGoogleTest(&argc, argv);
    int failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
