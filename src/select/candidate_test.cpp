#include "select/candidate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "select/mpi_library.hpp"
#include "select/online_tuner.hpp"
#include "strategies/all.hpp"

namespace unisono {
namespace {

struct CallOfFour {
    Options options;
    Topology topology = make_topology({0, 0, 0, 0});
    Layout layout;
    Facts facts{.direction = Direction::write,
                .topology = &topology,
                .layout = &layout,
                .touched = {0, 64 << 20},
                .bytes = 64 << 20,
                .pieces = 4,
                .rank_ordered = true,
                .local_storage = true,
                .file_bytes = 64 << 20,
                .native_ready = true};

    [[nodiscard]] std::string names(std::string_view fault = "some") const {
        std::string text;
        for (auto const& candidate : all_candidates(facts, options, &two_phase, fault))
            text += (text.empty() ? "" : " ") + name_of(candidate);
        return text;
    }
};

// Ranks whose candidates differ would choose differently.
TEST(Candidates, a_plug_in_that_other_ranks_may_not_have_is_no_candidate) {
    static Strategy const from_outside{.name = "from_outside",
                                       .summary = "as two_phase",
                                       .unfit = two_phase.unfit,
                                       .plan = two_phase.plan};
    if (find_strategy(from_outside.name) == nullptr) add_strategy(from_outside);
    EXPECT_EQ(CallOfFour{}.names(), "two_phase independent");
}

MpiLibrary const mpich{MpiLibrary::Family::mpich, "MPICH 4.0.2"};
MpiLibrary const openmpi{MpiLibrary::Family::openmpi, "Open MPI 4.1.4"};

TEST(Candidates, on_a_nodes_own_file_system_there_is_little_to_vary) {
    CallOfFour const call;
    EXPECT_EQ(call.names(), "two_phase independent");
    EXPECT_EQ(call.names(""), "two_phase native independent");
}

TEST(Candidates, elsewhere_aggregators_and_buffers_vary_and_servers_matter) {
    CallOfFour call;
    call.facts.local_storage = false;
    call.layout = Layout::of("test", {Striping::round_robin(65536, {0, 1})});
    EXPECT_EQ(call.names(),
              "two_phase independent disk_first resonant lacio two_phase+every_rank "
              "two_phase+large_buffers");
    call.options.cb_nodes = 2;
    call.options.cb_buffer_size = 1 << 20;
    EXPECT_EQ(call.names(), "two_phase independent disk_first resonant lacio")
        << "the user has said";
}

TEST(Candidates, between_nodes_these_may_send_for_their_ranks) {
    CallOfFour call;
    call.topology = make_topology({0, 0, 1, 1});
    EXPECT_EQ(call.names(), "two_phase independent core_first two_phase+intra_node_aggregation");
    call.options.intra_node_aggregation = Switch::disable;
    EXPECT_EQ(call.names(), "two_phase independent core_first");
}

// 2^20 pieces of 64 bytes, a quarter for each rank: half a second at 2 us each, 105 s at 0.4 ms.
TEST(Candidates, many_small_pieces_are_to_be_feared) {
    CallOfFour call;
    call.facts.pieces = 1 << 20;
    for (auto const& candidate : all_candidates(call.facts, call.options, &two_phase, "some"))
        EXPECT_DOUBLE_EQ(candidate.worst_case_s,
                         candidate.strategy == &independent ? (1 << 18) * 2e-6 : 0);
    call.facts.local_storage = false;
    EXPECT_DOUBLE_EQ(with_cost_bounds({&independent}, call.facts).worst_case_s, (1 << 18) * 4e-4);
    EXPECT_DOUBLE_EQ(with_cost_bounds({&core_first}, call.facts).worst_case_s, (1 << 18) * 4e-4)
        << "a node's ranks have hardly any pieces side by side";
}

TEST(Candidates, strategies_with_windows_have_more_to_set_up) {
    CallOfFour const call;
    EXPECT_DOUBLE_EQ(with_cost_bounds({&two_phase}, call.facts).setup_s, windows_setup_s);
    EXPECT_DOUBLE_EQ(with_cost_bounds({&independent}, call.facts).setup_s, any_setup_s);
}

TEST(Candidates, a_variation_changes_one_setting) {
    Options const plain;
    auto changed = plain;
    changed.intra_node_aggregation = Switch::enable;
    EXPECT_EQ(with_setting(plain, Candidate::Variation::intra_node_aggregation), changed);
    EXPECT_EQ(with_setting(plain, Candidate::Variation::none), plain);
    EXPECT_EQ(with_setting(plain, Candidate::Variation::every_rank).cb_config_list, "*:*");
    EXPECT_GT(with_setting(plain, Candidate::Variation::large_buffers).cb_buffer_size, 1u << 20);
}

TEST(MpiLibrary, is_known_by_what_it_says_of_itself) {
    auto const one = parse_mpi_library("MPICH Version:\t4.0.2\nMPICH Release date:\tThu");
    EXPECT_EQ(one.family, MpiLibrary::Family::mpich);
    EXPECT_EQ(one.name, "MPICH 4.0.2");
    auto const two = parse_mpi_library("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4");
    EXPECT_EQ(two.family, MpiLibrary::Family::openmpi);
    EXPECT_EQ(two.name, "Open MPI 4.1.4");
    auto const three = parse_mpi_library("Intel(R) MPI Library 2021.18.1 for Linux* OS\n");
    EXPECT_EQ(three.family, MpiLibrary::Family::mpich);
    EXPECT_EQ(three.name, "Intel MPI 2021.18.1");
    auto const four =
        parse_mpi_library("MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)");
    EXPECT_EQ(four.family, MpiLibrary::Family::mpich);
    EXPECT_EQ(four.name, "Cray MPICH 8.1.25.17");
    EXPECT_EQ(parse_mpi_library("Some MPI 1.0").family, MpiLibrary::Family::unknown);
    EXPECT_EQ(parse_mpi_library("").name, "unknown MPI");
}

TEST(NativeFault, one_block_for_each_rank_is_safe_with_mpich) {
    CallOfFour call;
    EXPECT_EQ(native_fault(mpich, call.facts, call.options), "");
    call.facts.direction = Direction::read;
    EXPECT_EQ(native_fault(mpich, call.facts, call.options), "");
    EXPECT_EQ(native_fault(openmpi, call.facts, call.options), "");
}

// A call that the MPI library did succeeded in spite of a fault: the fuzzer's seed 1795271070209.
TEST(NativeFault, injected_faults_are_met_by_unisono_alone) {
    CallOfFour call;
    call.options.faults = "read@40=EIO";
    EXPECT_NE(native_fault(mpich, call.facts, call.options), "");
}

TEST(NativeFault, keeps_the_library_away_from_what_it_gets_wrong) {
    auto const faulty = [](MpiLibrary const& library, auto change) {
        CallOfFour call;
        call.facts.direction = Direction::read;
        change(call.facts);
        return !native_fault(library, call.facts, call.options).empty();
    };
    for (auto const& library : {mpich, openmpi}) {
        EXPECT_TRUE(faulty(library, [](Facts& facts) { facts.rank_ordered = false; }));
        EXPECT_TRUE(faulty(library, [](Facts& facts) { facts.touched.end -= 1; }));
        EXPECT_TRUE(faulty(library, [](Facts& facts) { facts.file_bytes -= 1; }));
        EXPECT_TRUE(faulty(library, [](Facts& facts) { facts.native_ready = false; }));
    }
    EXPECT_TRUE(faulty(openmpi, [](Facts& facts) { facts.direction = Direction::write; }));
    EXPECT_TRUE(faulty({}, [](Facts&) {})) << "nothing is known of it";
}

TEST(OnlineTuner, unasked_it_measures_what_the_rule_guesses_far_from_a_nodes_own_files) {
    auto const examines = [](auto change) {
        CallOfFour call;
        call.facts.local_storage = false;
        call.facts.pieces = 1 << 14;
        call.facts.rank_ordered = false;
        change(call);
        OnlineTuner tuner;
        tuner.choose(call.facts, call.options);
        return tuner.examined_class().has_value();
    };
    EXPECT_TRUE(examines([](CallOfFour&) {}));
    EXPECT_FALSE(examines([](CallOfFour& call) { call.facts.local_storage = true; }));
    EXPECT_FALSE(examines([](CallOfFour& call) { call.facts.pieces = 4; })) << "large pieces";
    EXPECT_FALSE(examines([](CallOfFour& call) { call.options.cb_write = Switch::enable; }));
}

TEST(OnlineTuner, calls_that_went_on_like_one_are_measured_with_it) {
    CallOfFour call;
    call.options.select = "measured";
    OnlineTuner tuner;
    tuner.choose(call.facts, call.options);
    tuner.finish(1);
    tuner.add(tuner.choice(), 3, false);
    tuner.add(tuner.choice(), 8, false);
    tuner.add(tuner.choice() - 1, 100, false);
    EXPECT_EQ(tuner.last_seconds(), 4);
    tuner.add(tuner.choice(), 1, true);
    tuner.add(tuner.choice(), 1, false);
    EXPECT_TRUE(std::isinf(tuner.last_seconds())) << "it waited for the program's turn";
}

}  // namespace
}  // namespace unisono
