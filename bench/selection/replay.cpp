// Plays recorded timings of single calls to selectors, and says how much of the best fixed
// candidate's throughput they reach: the selectors' own regret, the same each time.
//
//     selection_replay timings.json [--check]
//
// --check: exit code 1 when the measuring selector misses what `limits` below says.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "select/measuring_selector.hpp"
#include "strategies/all.hpp"

namespace unisono {
namespace {

constexpr int games = 20;  // of each cell, with other draws
constexpr std::size_t long_run = 100;
constexpr std::size_t short_run = 30;

/// The calls of one program, and how long they take with each candidate.
struct Cell {
    std::string name;
    Signature signature;
    std::vector<Candidate> candidates;  // for the selector: the rule's choice first
    std::map<std::string, std::vector<double>> seconds;
    bool paper = false;  // it has all three candidates of the paper
};

/// What one run took, by who chose.
struct Outcome {
    double best_fixed = 0;  // of the selector's candidates
    double native = 0;
    double rule = 0;
    double measured = 0;
    double remembered = 0;  // measured, after a run of 100 calls
    double paper = 0;
};

Facts facts_of(nlohmann::json const& json, Topology const& topology, Layout const& layout,
               Options const& options) {
    auto const bytes = json.at("bytes").get<std::uint64_t>();
    return {.direction = json.at("direction") == "read" ? Direction::read : Direction::write,
            .topology = &topology,
            .layout = &layout,
            .touched = {0, bytes},
            .bytes = bytes,
            .pieces = json.at("pieces"),
            .rank_ordered = json.at("rank_ordered"),
            .local_storage = json.at("local"),
            .file_bytes = bytes,
            .native_ready = true,
            .options = &options};
}

// The same ones that the library would have, as far as they were recorded. Strategies that need
// more facts than a recording has are there when they were recorded.
std::vector<Candidate> candidates_of(nlohmann::json const& json, Facts const& facts) {
    auto const& seconds = json.at("seconds");
    auto const fault = native_fault({MpiLibrary::Family::mpich, ""}, facts);
    std::vector<Candidate> found;
    for (auto const& candidate :
         all_candidates(facts, find_strategy(json.at("rule").get<std::string>()), fault))
        if (seconds.contains(name_of(candidate))) found.push_back(candidate);
    for (auto const* strategy : {&transpose, &core_first, &disk_first, &resonant, &lacio}) {
        auto const there = std::ranges::find(found, strategy, &Candidate::strategy) != found.end();
        if (!there && seconds.contains(std::string{strategy->name})) found.push_back({strategy});
    }
    return found;
}

Cell cell_from(nlohmann::json const& json) {
    auto const ranks = json.at("ranks").get<std::uint32_t>();
    std::vector<std::uint32_t> labels(ranks);
    auto const nodes = json.at("nodes").get<std::uint32_t>();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) labels[rank] = rank * nodes / ranks;
    auto const topology = make_topology(labels);
    Options const options;
    Layout const layout;
    auto const facts = facts_of(json, topology, layout, options);
    Cell cell{.name = json.at("name"),
              .signature = signature_of(facts),
              .candidates = candidates_of(json, facts),
              .seconds = json.at("seconds")};
    cell.signature.place = std::hash<std::string>{}(cell.name);  // cells know nothing of each other
    cell.paper = cell.seconds.contains("core_first") && cell.seconds.contains("disk_first");
    return cell;
}

/// One possible course of events: call i of the run, if candidate c does it. The first call that a
/// candidate does is the first that was recorded; it also set things up.
class Course {
public:
    Course(Cell const& cell, std::uint64_t seed) : cell_{cell}, random_{seed} {
        for (auto const& [name, seconds] : cell.seconds)
            for (std::size_t i = 0; i < long_run; ++i)
                draws_[name].push_back(seconds[random_() % seconds.size()]);
    }
    double operator()(std::string const& name, std::size_t call) {
        auto const first = done_[name]++ == 0;
        auto const& recorded = cell_.seconds.at(name);
        return first ? recorded.front() : draws_.at(name)[call];
    }
    void restart() { done_.clear(); }

private:
    Cell const& cell_;
    std::mt19937_64 random_;
    std::map<std::string, std::vector<double>> draws_;
    std::map<std::string, int> done_;
};

double run_fixed(Course& course, std::string const& name, std::size_t calls) {
    course.restart();
    double spent = 0;
    for (std::size_t i = 0; i < calls; ++i) spent += course(name, i);
    return spent;
}

double run_selector(Course& course, Selector& selector, Signature const& signature,
                    std::span<Candidate const> candidates, std::size_t calls) {
    course.restart();
    double spent = 0;
    for (std::size_t i = 0; i < calls; ++i) {
        auto const chosen = selector.choose(signature, candidates).candidate;
        auto const seconds = course(name_of(chosen), i);
        selector.learn(signature, chosen, seconds);
        spent += seconds;
    }
    return spent;
}

// Over all games: who wins a single one by luck is not the best.
std::string best_of(Cell const& cell) {
    auto const total = [&](Candidate const& candidate) {
        auto const& seconds = cell.seconds.at(name_of(candidate));
        return std::accumulate(seconds.begin(), seconds.end(), 0.0) /
               static_cast<double>(seconds.size());
    };
    return name_of(*std::ranges::min_element(cell.candidates, {}, total));
}

Outcome play(Cell const& cell, std::uint64_t seed, std::size_t calls) {
    Course course{cell, seed};
    Outcome outcome;
    outcome.best_fixed = run_fixed(course, best_of(cell), calls);
    outcome.native = run_fixed(course, "native", calls);
    outcome.rule = run_fixed(course, name_of(cell.candidates[0]), calls);
    MeasuringSelector cold;
    outcome.measured = run_selector(course, cold, cell.signature, cell.candidates, calls);
    MeasuringSelector earlier, warm;
    Course other{cell, seed + 1000};
    run_selector(other, earlier, cell.signature, cell.candidates, long_run);
    warm.remember({.lessons = earlier.take_news()});
    outcome.remembered = run_selector(course, warm, cell.signature, cell.candidates, calls);
    if (cell.paper) {
        std::vector<Candidate> const three{{&native}, {&core_first}, {&disk_first}};
        auto const paper = make_paper_selector();
        outcome.paper = run_selector(course, *paper, cell.signature, three, calls);
    }
    return outcome;
}

/// Throughput of one over that of another, a number for each cell: the mean over the games.
struct Ratios {
    char const* what;
    std::size_t calls;
    double (*ratio)(Outcome const&);
    double median_least;  // limits of --check
    double worst_least;
    std::vector<double> by_cell = {};
    std::vector<std::string> names = {};

    void add(Cell const& cell, std::vector<Outcome> const& outcomes) {
        double sum = 0;
        for (auto const& outcome : outcomes) sum += ratio(outcome);
        if (!std::isfinite(sum)) return;  // not for this cell
        by_cell.push_back(sum / static_cast<double>(outcomes.size()));
        names.push_back(cell.name);
    }
    [[nodiscard]] double median() const {
        auto sorted = by_cell;
        std::ranges::sort(sorted);
        return sorted[sorted.size() / 2];
    }
    [[nodiscard]] std::size_t worst() const {
        return static_cast<std::size_t>(std::ranges::min_element(by_cell) - by_cell.begin());
    }
    // False where it is missed.
    [[nodiscard]] bool print() const {
        if (by_cell.empty()) return true;
        auto const missed = median() < median_least || by_cell[worst()] < worst_least;
        std::printf("%-46s %3zu calls: median %.3f, worst %.3f (%s) of %zu cells%s\n", what, calls,
                    median(), by_cell[worst()], names[worst()].c_str(), by_cell.size(),
                    missed ? "  MISSED" : "");
        return !missed;
    }
};

std::vector<Ratios> questions() {
    auto const paper = [](Outcome const& o) { return o.paper > 0 ? o.best_fixed / o.paper : NAN; };
    return {
        {"rule / best fixed", long_run, [](auto const& o) { return o.best_fixed / o.rule; }, 0, 0},
        {"measured / best fixed", long_run, [](auto const& o) { return o.best_fixed / o.measured; },
         0, 0},
        {"measured, with memory / best fixed", long_run,
         [](auto const& o) { return o.best_fixed / o.remembered; }, 0, 0},
        {"measured / rule", long_run, [](auto const& o) { return o.rule / o.measured; }, 0, 0},
        {"measured, with memory / rule", long_run,
         [](auto const& o) { return o.rule / o.remembered; }, 0, 0},
        {"measured / rule", short_run, [](auto const& o) { return o.rule / o.measured; }, 0, 0},
        {"measured / native", short_run, [](auto const& o) { return o.native / o.measured; }, 0, 0},
        {"measured, with memory / native", short_run,
         [](auto const& o) { return o.native / o.remembered; }, 0, 0},
        {"as in the paper / best fixed", long_run, paper, 0, 0},
        {"as in the paper / best fixed", short_run, paper, 0, 0},
    };
}

int replay(std::string const& path, bool verbose) {
    std::ifstream file{path};
    auto const recorded = nlohmann::json::parse(file);
    auto asked = questions();
    for (auto const& json : recorded.at("cells")) {
        auto const cell = cell_from(json);
        for (auto const calls : {long_run, short_run}) {
            std::vector<Outcome> outcomes;
            for (std::uint64_t game = 0; game < games; ++game)
                outcomes.push_back(play(cell, game, calls));
            for (auto& question : asked)
                if (question.calls == calls) question.add(cell, outcomes);
            if (!verbose || calls != long_run) continue;
            auto const& o = outcomes[0];
            std::printf("%-44s rule %.3f measured %.3f memory %.3f native %.3f\n",
                        cell.name.c_str(), o.best_fixed / o.rule, o.best_fixed / o.measured,
                        o.best_fixed / o.remembered, o.best_fixed / o.native);
        }
    }
    bool missed = false;
    for (auto const& question : asked) missed = !question.print() || missed;
    return missed ? 1 : 0;
}

}  // namespace
}  // namespace unisono

int main(int argument_count, char** arguments) {
    std::string const option = argument_count > 2 ? arguments[2] : "";
    if (argument_count < 2 || (!option.empty() && option != "--check" && option != "--cells")) {
        std::fprintf(stderr, "usage: selection_replay timings.json [--check | --cells]\n");
        return 2;
    }
    auto const result = unisono::replay(arguments[1], option == "--cells");
    return option == "--check" ? result : 0;
}
