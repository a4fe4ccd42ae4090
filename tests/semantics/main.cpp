// MPI-IO semantics and error tests, one process launch for many of them.
//   semantics --under native|unisono [--threads single|funneled|multiple]
//             [--known-faults] [--without NAME-PREFIX ...] [NAME-PREFIX ...]
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "files.hpp"
#include "harness.hpp"

using namespace semantics;

namespace {

struct Arguments {
    bool expect_unisono = false;
    int thread_level = MPI_THREAD_MULTIPLE;
    Filters filters;
};

int parse_level(std::string const& word) {
    if (word == "single") return MPI_THREAD_SINGLE;
    if (word == "funneled") return MPI_THREAD_FUNNELED;
    return MPI_THREAD_MULTIPLE;
}

Arguments parse(int count, char** words) {
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        std::string const word = words[i];
        if (word == "--under" && i + 1 < count)
            arguments.expect_unisono = std::string(words[++i]) == "unisono";
        else if (word == "--threads" && i + 1 < count)
            arguments.thread_level = parse_level(words[++i]);
        else if (word == "--without" && i + 1 < count)
            arguments.filters.without.emplace_back(words[++i]);
        else if (word == "--known-faults")
            arguments.filters.known_faults = true;
        else
            arguments.filters.with.push_back(word);
    }
    // They need much room, much time or a library beside this program.
    if (arguments.filters.with.empty())
        for (auto const* suite : {"foreign.", "vanished.", "device.", "memory.", "large."})
            arguments.filters.without.emplace_back(suite);
    return arguments;
}

// Empty: without Unisono.
std::string strategy_of_files(Context const& context) {
    MPI_File file = open_file(context, context.path("probe"),
                              MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    auto strategy = info_value(file, "unisono_strategy");
    close_file(file);
    return strategy;
}

// Why tests would pass that try something else; empty: they would not.
std::string not_as_wished(std::string const& strategy, bool expect_unisono) {
    if (strategy.empty())
        return expect_unisono ? "no key unisono_strategy: Unisono is not at work" : "";
    if (!expect_unisono) return "Unisono is at work in a native run";
    char const* wished = getenv("UNISONO_STRATEGY");
    if (wished == nullptr || wished == strategy) return {};
    return "the strategy is " + strategy + ", not " + wished;
}

}  // namespace

int main(int argc, char** argv) {
    auto const arguments = parse(argc, argv);
    Context context;
    MPI_Init_thread(&argc, &argv, arguments.thread_level, &context.thread_level);
    MPI_Comm_dup(MPI_COMM_WORLD, &context.comm);
    MPI_Comm_rank(context.comm, &context.rank);
    MPI_Comm_size(context.comm, &context.size);
    context.directory = make_directory(context);
    auto const strategy = strategy_of_files(context);
    context.unisono = !strategy.empty();

    int code = 1;
    auto const why_not = not_as_wished(strategy, arguments.expect_unisono);
    if (why_not.empty())
        code = run_tests(context, arguments.filters);
    else if (context.root())
        fprintf(stderr, "semantics: %s\n", why_not.c_str());
    context.barrier();
    if (context.root()) std::filesystem::remove_all(context.directory);
    MPI_Comm_free(&context.comm);
    MPI_Finalize();
    return code;
}
