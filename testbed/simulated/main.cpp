#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "simulated/heap.hpp"
#include "simulated/patterns.hpp"
#include "simulated/planned.hpp"
#include "simulated/run_scenario.hpp"
#include "simulated/scale.hpp"
#include "simulated/servers_case.hpp"
#include "simulated/shrink.hpp"
#include "simulated/sweep.hpp"
#include "strategies/all.hpp"
#include "support/file_content.hpp"

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
    auto const begun_s = steady_clock_s();
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
    auto const took_s = steady_clock_s() - begun_s;
    std::printf("%llu seeds, %llu await points in %.1f s: %.0f seeds a minute; digest %016llx\n",
                static_cast<unsigned long long>(arguments.seeds),
                static_cast<unsigned long long>(events), took_s,
                60 * static_cast<double>(arguments.seeds) / took_s,
                static_cast<unsigned long long>(digest));
    return 0;
}

// One line of JSON: bench/scale.py reads it.
int run_scale(ScaleCase scale, std::optional<std::uint32_t> traced_rank) {
    if (traced_rank)
        scale.trace = [&](Event const& event) {
            if (event.rank == *traced_rank) print(event);
        };
    std::size_t bytes_before = 0;
    scale.on_begin = [&] {
        bytes_before = heap_bytes();
        count_heap_peak_anew();
    };
    auto const begun_s = steady_clock_s();
    auto const result = run(scale);
    auto const memory = (heap_peak_bytes() - bytes_before) / scale.ranks +
                        result.node_memory_bytes / scale.ranks_per_node;
    nlohmann::ordered_json const line{{"ranks", scale.ranks},
                                      {"ranks_per_node", scale.ranks_per_node},
                                      {"pattern", scale.pattern},
                                      {"strategy", scale.strategy},
                                      {"chosen", result.chosen},
                                      {"aggregators", result.aggregators},
                                      {"servers", scale.network.servers},
                                      {"calls", result.calls},
                                      {"bytes", result.bytes},
                                      {"write_s", result.write_s},
                                      {"read_s", result.read_s},
                                      {"rounds", result.rounds},
                                      {"messages", result.messages},
                                      {"message_bytes", result.message_bytes},
                                      {"reduced_bytes_per_rank", result.reduced_bytes},
                                      {"fan_in", result.fan_in},
                                      {"memory_bytes_per_rank", memory},
                                      {"bytes_compared", !scale.sizes_only},
                                      {"await_points", result.awaits},
                                      {"took_s", steady_clock_s() - begun_s},
                                      {"wrong", result.wrong}};
    std::printf("%s\n", line.dump().c_str());
    return result.wrong.empty() ? 0 : 1;
}

// The same, of a write that nobody does.
int show_plan(ScaleCase scale) {
    std::size_t bytes_before = 0;
    std::size_t plan_bytes = 0;
    scale.on_begin = [&] { bytes_before = heap_bytes(); };
    auto const planned = plan_write(scale, [&] { plan_bytes = heap_bytes() - bytes_before; });
    nlohmann::ordered_json const line{{"ranks", scale.ranks},
                                      {"ranks_per_node", scale.ranks_per_node},
                                      {"pattern", scale.pattern},
                                      {"bytes_per_rank", scale.bytes_per_rank},
                                      {"strategy", planned.strategy},
                                      {"aggregators", planned.aggregators},
                                      {"rounds", planned.rounds},
                                      {"nodes_send", planned.nodes_send},
                                      {"messages", planned.sent.messages},
                                      {"message_bytes", planned.sent.bytes},
                                      {"most_from_one", planned.sent.most_from_one},
                                      {"fan_in", planned.sent.fan_in},
                                      {"reduced_bytes_per_rank", planned.reduced_bytes},
                                      {"planning_s", planned.planning_s},
                                      {"plan_bytes_per_rank", plan_bytes}};
    std::printf("%s\n", line.dump().c_str());
    return 0;
}

struct ServersArguments {
    ServersCase servers;
    std::string profile_file;
    std::string context = "process";
    std::uint64_t jitter_us = 50;
    std::uint64_t seed = 1;
    std::uint64_t page_cache_bytes = 0;
};

testbed::Profile read_profile(ServersArguments const& arguments) {
    auto profile = testbed::parse_profile(file_content(arguments.profile_file).value_or(""));
    if (arguments.page_cache_bytes > 0)
        profile.host.page_cache_bytes = static_cast<double>(arguments.page_cache_bytes);
    return profile;
}

// One line of JSON: bench/papers/simulated.py reads it.
int run_servers(ServersArguments& arguments) {
    static std::map<std::string, testbed::ContextKind> const contexts{
        {"request", testbed::ContextKind::request},
        {"process", testbed::ContextKind::process},
        {"file", testbed::ContextKind::file}};
    auto& servers = arguments.servers;
    servers.profile = read_profile(arguments);
    servers.options.context = contexts.at(arguments.context);
    servers.options.jitter = static_cast<testbed::Time>(arguments.jitter_us) * testbed::microsecond;
    // The servers' own seeds follow.
    servers.options.seed = arguments.seed * 1000;
    auto const scale = scale_case_of(servers);
    auto const result = run(scale);
    nlohmann::ordered_json const line{
        {"profile", servers.profile.name},
        {"strategy", servers.strategy},
        {"chosen", result.chosen},
        {"seed", arguments.seed},
        {"bytes", result.bytes},
        {"read_s", result.read_s},
        {"mb_per_s", static_cast<double>(result.bytes) / result.read_s / 1e6},
        {"requests", result.served.reads},
        {"ascending", result.served.ascending},
        {"block_requests", result.served.block_requests},
        {"media_accesses", result.served.media_accesses},
        {"positioning_s", result.served.positioning_s},
        {"wrong", result.wrong}};
    std::printf("%s\n", line.dump().c_str());
    return result.wrong.empty() ? 0 : 1;
}

// CLI::PositiveNumber names 309 digits.
std::string positive(std::string const& number) {
    return number == "0" || number.starts_with('-') ? "must be more than 0" : "";
}

std::vector<std::string> strategies() {
    std::vector<std::string> names{"auto", "romio", "pieces"};
    for (auto const* strategy : all_strategies()) names.emplace_back(strategy->name);
    return names;
}

void add_servers_options(CLI::App& app, ServersArguments& arguments) {
    auto& servers = arguments.servers;
    app.add_option("--profile-file", arguments.profile_file, "Of the servers")
        ->required()
        ->check(CLI::ExistingFile);
    app.add_option("--servers", servers.servers)->check(positive);
    app.add_option("--stripe-bytes", servers.stripe_bytes)->check(positive);
    app.add_option("--scheduler", servers.options.scheduler);
    app.add_option("--context", arguments.context)
        ->check(CLI::IsMember({"request", "process", "file"}));
    app.add_option("--jitter-us", arguments.jitter_us);
    app.add_option("--seed", arguments.seed);
    app.add_option("--page-cache-bytes", arguments.page_cache_bytes, "0: the profile's");
    app.add_option("--ranks", servers.ranks)->check(positive);
    app.add_option("--ranks-per-node", servers.ranks_per_node)->check(positive);
    app.add_option("--piece-bytes", servers.piece_bytes)->check(positive);
    app.add_option("--pieces", servers.pieces, "Of each rank in a call, in turn with the others'")
        ->check(positive);
    app.add_option("--file-bytes", servers.file_bytes);
    app.add_flag("--dealt", servers.dealt, "Pieces of the whole file dealt to ranks at random");
    app.add_option("--strategy", servers.strategy,
                   "A strategy, romio: its model, or pieces: an access for each, alone")
        ->check(CLI::IsMember(strategies()).description(""));
    app.add_option("--cb-nodes", servers.cb_nodes);
    app.add_option("--cb-buffer-size", servers.cb_buffer_size);
    app.add_flag("--groups-by-count", servers.as_many_groups_as_servers,
                 "unisono_resonant_groups=by_count");
}

void add_scale_options(CLI::App& many, ScaleCase& scale, bool& plan_only,
                       std::optional<std::uint32_t>& traced_rank) {
    std::vector<std::string> patterns;
    for (auto const& pattern : scale_patterns()) patterns.emplace_back(pattern.name);
    many.add_option("--ranks", scale.ranks)->check(positive);
    many.add_option("--ranks-per-node", scale.ranks_per_node)->check(positive);
    many.add_option("--pattern", scale.pattern)->check(CLI::IsMember(patterns));
    many.add_option("--bytes-per-rank", scale.bytes_per_rank)->check(positive);
    many.add_option("--strategy", scale.strategy, "A strategy, auto, or romio: a model of ROMIO")
        ->check(CLI::IsMember(strategies()).description(""));
    many.add_option("--intra-node-aggregation", scale.intra_node_aggregation)
        ->transform(
            CLI::CheckedTransformer(std::map<std::string, Switch>{{"automatic", Switch::automatic},
                                                                  {"enable", Switch::enable},
                                                                  {"disable", Switch::disable}}));
    many.add_option("--cb-buffer-size", scale.cb_buffer_size);
    many.add_option("--cb-nodes", scale.cb_nodes);
    many.add_option("--latency-s", scale.network.latency_s, "Of a message between nodes");
    many.add_option("--link-bytes-per-s", scale.network.bytes_per_s, "Of each node, both ways");
    many.add_option("--message-s", scale.network.message_s,
                    "That a message keeps its sender busy, and its receiver");
    many.add_option("--servers", scale.network.servers, "0: file accesses cost nothing");
    many.add_option("--server-bytes-per-s", scale.network.server_bytes_per_s);
    many.add_option("--request-s", scale.network.request_s, "That a server needs for each request");
    many.add_option("--stripe-bytes", scale.network.stripe_bytes);
    many.add_option("--trace-rank", traced_rank, "Also show its await points");
    many.add_flag("--sizes-only", scale.sizes_only,
                  "No memory for data that is not under way; bytes are not compared");
    many.add_flag("--plan-only", plan_only,
                  "Nobody does anything: the plan is made, and the messages of a write counted");
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
    auto* const many = app.add_subcommand(
        "scale", "Collective writes and reads of many ranks, as one line of JSON");
    many->option_defaults()->always_capture_default();
    std::optional<std::uint32_t> traced_rank;
    bool plan_only = false;
    add_scale_options(*many, scale, plan_only, traced_rank);
    ServersArguments servers;
    auto* const modelled =
        app.add_subcommand("servers", "Reads through modelled data servers, as one line of JSON");
    modelled->option_defaults()->always_capture_default();
    add_servers_options(*modelled, servers);
    CLI11_PARSE(app, argc, argv);
    if (*many) return plan_only ? show_plan(scale) : run_scale(scale, traced_rank);
    if (*modelled) return run_servers(servers);
    if (arguments.sweep) return sweep_one(arguments);
    return *one ? run_one(arguments) : run_many(arguments);
}

}  // namespace
}  // namespace unisono::simulated

int main(int argc, char** argv) {
    try {
        return unisono::simulated::main_with(argc, argv);
    } catch (std::exception const& error) {  // a profile, scheduler or size that makes no sense
        std::fprintf(stderr, "simulate: %s\n", error.what());
        return 2;
    }
}
