#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simulated/run_scenario.hpp"
#include "simulated/scale.hpp"
#include "simulated/shrink.hpp"
#include "simulated/sweep.hpp"

// Runs the executor on simulated teams: scenarios that are made up from seeds, or one call of many
// ranks. See docs/understand/testbed.md.

namespace unisono::simulated {
namespace {

struct Arguments {
    std::uint64_t first_seed = 0;
    std::uint64_t seeds = 1000;
    bool trace = false;
    bool sweep = false;
    Canary canary = Canary::none;
};

double wall_s() { return CallRecord::steady_clock_s(); }

void print(Event const& event) {
    std::printf("%12.6f ms  rank %u  %s %llu\n", event.at_s * 1e3, event.rank, name_of(event.await),
                static_cast<unsigned long long>(event.detail));
}

// Shows a failure and the smallest one that can be made of it.
void explain(Scenario const& scenario, Judgement const& judgement, std::string const& name) {
    std::printf("%s goes wrong:\n%s%s", name.c_str(), judgement.text().c_str(),
                show(scenario).c_str());
    auto const smallest = shrink(scenario);
    std::printf("the smallest scenario that was found like it, after %zu runs:\n%s%s",
                smallest.runs, smallest.judgement.text().c_str(), show(smallest.scenario).c_str());
}

int run_one(Arguments const& arguments) {
    auto const scenario = make_scenario(arguments.first_seed, arguments.canary);
    std::printf("%s", show(scenario).c_str());
    auto const judgement = run(scenario, arguments.trace ? print : nullptr);
    std::printf("digest %016llx, %.3f virtual ms\n",
                static_cast<unsigned long long>(judgement.digest), judgement.ended.virtual_s * 1e3);
    if (judgement.wrong())
        explain(scenario, judgement, "seed " + std::to_string(arguments.first_seed));
    return judgement.wrong() ? 1 : 0;
}

int sweep_one(Arguments const& arguments) {
    auto const swept = sweep(make_scenario(arguments.first_seed, arguments.canary));
    std::printf("%zu runs with a stop or a fault, one at each await point and access\n",
                swept.runs);
    if (swept.failing) explain(*swept.failing, run(*swept.failing), "one of them");
    return swept.failing ? 1 : 0;
}

int run_many(Arguments const& arguments) {
    auto const begun_s = wall_s();
    std::uint64_t events = 0;
    std::uint64_t digest = 0;
    for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
        auto const seed = arguments.first_seed + i;
        auto const scenario = make_scenario(seed, arguments.canary);
        auto const judgement = run(scenario);
        for (auto const awaits : judgement.ended.awaits) events += awaits;
        digest = digest * 31 + judgement.digest;
        if (!judgement.wrong()) continue;
        explain(scenario, judgement, "seed " + std::to_string(seed));
        return 1;
    }
    auto const took_s = wall_s() - begun_s;
    std::printf("%llu seeds, %llu await points in %.1f s: %.0f seeds a minute; digest %016llx\n",
                static_cast<unsigned long long>(arguments.seeds),
                static_cast<unsigned long long>(events), took_s,
                60 * static_cast<double>(arguments.seeds) / took_s,
                static_cast<unsigned long long>(digest));
    return 0;
}

int run_scale(ScaleCase const& scale) {
    auto const begun_s = wall_s();
    auto const result = run(scale);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::printf(
        "%u ranks, %u a node, %s with %zu aggregators: write %.3f ms, read %.3f ms of "
        "network and memory on the virtual clock; %llu messages of %llu bytes; "
        "%llu await points in %.1f s, %ld MiB\n",
        scale.ranks, scale.ranks_per_node, scale.strategy.c_str(), result.aggregators,
        result.write_s * 1e3, result.read_s * 1e3, static_cast<unsigned long long>(result.messages),
        static_cast<unsigned long long>(result.message_bytes),
        static_cast<unsigned long long>(result.awaits), wall_s() - begun_s, used.ru_maxrss / 1024);
    if (!result.wrong.empty()) std::printf("wrong: %s\n", result.wrong.c_str());
    return result.wrong.empty() ? 0 : 1;
}

int main_with(int argc, char** argv) {
    CLI::App app{"Runs the executor on simulated teams, the same way for the same seed."};
    Arguments arguments;
    auto* const one = app.add_option("--seed", arguments.first_seed, "Run this seed and show it");
    app.add_option("--first-seed", arguments.first_seed, "First of many")->excludes(one);
    app.add_option("--seeds", arguments.seeds, "How many")->capture_default_str();
    app.add_flag("--trace", arguments.trace, "With --seed: show each await point")->needs(one);
    app.add_flag("--sweep", arguments.sweep,
                 "With --seed: a stop at every await point, a fault at every access")
        ->needs(one);
    std::map<std::string, Canary> canaries;
    for (auto const canary : all_canaries()) canaries.emplace(name_of(canary), canary);
    app.add_option("--canary", arguments.canary, "Make a mistake on purpose")
        ->transform(CLI::Transformer(canaries));
    ScaleCase scale;
    auto* const many = app.add_subcommand("scale", "One write and read of many ranks");
    many->add_option("--ranks", scale.ranks)->capture_default_str();
    many->add_option("--ranks-per-node", scale.ranks_per_node)->capture_default_str();
    many->add_option("--block-bytes", scale.block_bytes)->capture_default_str();
    many->add_option("--bytes-per-rank", scale.bytes_per_rank)->capture_default_str();
    many->add_option("--strategy", scale.strategy)->capture_default_str();
    many->add_option("--aggregate-on-nodes", scale.intra_node_aggregation)->capture_default_str();
    many->add_option("--cb-buffer-size", scale.cb_buffer_size)->capture_default_str();
    many->add_option("--cb-nodes", scale.cb_nodes)->capture_default_str();
    many->add_flag("--sizes-only", scale.sizes_only,
                   "No memory for data that is not under way; bytes are not compared");
    CLI11_PARSE(app, argc, argv);
    if (*many) return run_scale(scale);
    if (arguments.sweep) return sweep_one(arguments);
    return *one ? run_one(arguments) : run_many(arguments);
}

}  // namespace
}  // namespace unisono::simulated

int main(int argc, char** argv) { return unisono::simulated::main_with(argc, argv); }
