#include "orchestra/program_id.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace unisono::orchestra {
namespace {

TEST(ProgramId, the_batch_system_comes_before_the_launcher) {
    ProcessFacts facts{.environment = {{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "3"}},
                       .ancestors = {{50, "hydra_pmi_proxy"}, {40, "mpiexec.hydra"}},
                       .session = 9};
    EXPECT_EQ(program_id(facts), "slurm:17.3");
    facts.environment = {{"PMIX_NAMESPACE", "prte-1@2"}};
    EXPECT_EQ(program_id(facts), "pmix:prte-1@2");
    facts.environment.emplace_back("UNISONO_PROGRAM", "climate");
    EXPECT_EQ(program_id(facts), "climate") << "the user's word";
}

TEST(ProgramId, all_ranks_of_a_launch_have_its_outermost_launcher) {
    ProcessFacts facts{
        .ancestors = {{52, "sh"}, {50, "hydra_pmi_proxy"}, {40, "mpiexec.hydra"}, {30, "bash"}},
        .session = 9};
    EXPECT_EQ(program_id(facts), "launch:40");
    facts.ancestors = {{30, "bash"}};
    EXPECT_EQ(program_id(facts), "session:9");
    facts.node = "n12.cluster";
    EXPECT_EQ(program_id(facts), "session:9@n12.cluster") << "another node has a session 9, too";
}

TEST(ProgramId, is_short_and_printable) {
    ProcessFacts const facts{.environment = {{"UNISONO_PROGRAM", "a b\n" + std::string(100, 'x')}}};
    EXPECT_EQ(program_id(facts), "a_b_" + std::string(59, 'x'));
}

void write(std::filesystem::path const& path, std::string const& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

TEST(ProgramId, processes_are_read_from_proc) {
    auto const proc = std::filesystem::path(testing::TempDir()) / "proc";
    write(proc / "7/stat", "7 (a (b) c) S 5 7 3 0\n");
    write(proc / "7/environ", std::string("A=1\0B=2=3\0broken\0", 17));
    write(proc / "5/stat", "5 (mpiexec) S 1 5 3 0\n");
    auto const facts = read_process_facts(7, proc);
    EXPECT_EQ(facts.session, 3);
    using Variables = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(facts.environment, (Variables{{"A", "1"}, {"B", "2=3"}}));
    EXPECT_EQ(program_id(facts), "launch:5");
    EXPECT_EQ(program_id(read_process_facts(99, proc)), "session:0") << "it is gone";
    write(proc / "8/stat", "8 (rank) S 5 8 3 0\n");
    write(proc / "8/environ", std::string("PMIX_NAMESPACE=job\0", 19));
    EXPECT_TRUE(read_process_facts(8, proc).ancestors.empty()) << "nobody asks";
}

TEST(ProgramId, this_very_process_has_one) {
    EXPECT_TRUE(is_program_id(program_id(read_process_facts(getpid()))));
}

TEST(ProgramIdAtGate, tells_users_apart_who_call_their_programs_the_same) {
    EXPECT_EQ(program_id_at_gate("slurm:7", 0, 0), "slurm:7");
    EXPECT_EQ(program_id_at_gate("slurm:7", 1000, 1000), "slurm:7");
    EXPECT_EQ(program_id_at_gate("slurm:7", 1000, 0), "slurm:7+1000");
    EXPECT_EQ(program_id_at_gate("slurm:7+2000", 1000, 0), "slurm:7+2000+1000");
    std::string const longest(program_id_length_max, 'x');
    for (auto const user : {uid_t{1}, ~uid_t{0}})
        EXPECT_TRUE(is_program_id(program_id_at_gate(longest, user, 0))) << user;
}

}  // namespace
}  // namespace unisono::orchestra
