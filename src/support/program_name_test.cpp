#include "support/program_name.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace unisono {
namespace {

using namespace std::string_view_literals;

TEST(ProgramName, is_that_of_the_file_that_runs) {
    EXPECT_EQ(program_name("/opt/bin/solver.x", "./solver.x\0input.py\0"sv), "solver.x");
    EXPECT_EQ(program_name("solver", ""), "solver");
    EXPECT_EQ(program_name("", ""), "");
}

// Else all of a user's scripts are one program, and one is compared with what another took.
TEST(ProgramName, is_that_of_the_script_in_python_and_julia) {
    EXPECT_EQ(program_name("/usr/bin/python3.11", "python3\0-u\0/home/me/heat.py\0in.py\0"sv),
              "heat.py");
    EXPECT_EQ(program_name("/usr/bin/python3.11", "python3\0-m\0mpi4py\0heat.py\0"sv), "heat.py");
    EXPECT_EQ(program_name("/opt/julia-1.10/bin/julia", "julia\0heat.jl\0"sv), "heat.jl");
}

TEST(ProgramName, is_the_interpreters_where_there_is_no_script) {
    EXPECT_EQ(program_name("/usr/bin/python3.11", "python3\0-c\0print()\0"sv), "python3.11");
    EXPECT_EQ(program_name("/usr/bin/python3.11", ""), "python3.11");
}

}  // namespace
}  // namespace unisono
