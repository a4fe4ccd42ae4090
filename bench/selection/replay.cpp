// Plays recorded timings of single calls to selectors, and says how much of the best fixed
// candidate's throughput they reach: the selectors' own regret, the same each time.
//
//     selection_replay timings.json [--check]
//
// --check: exit code 1 when the measuring selector falls clearly below what it reaches today
// (docs/understand/selection.md), which is not in all cells what it should. --cells: a line for
// each cell.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <utility>

#include "select/measuring_selector.hpp"
#include "strategies/all.hpp"
#include "support/hash.hpp"

namespace unisono {
namespace {

constexpr int games = 20;  // of each cell, with other draws
constexpr std::size_t long_run = 100;
constexpr std::size_t short_run = 30;
constexpr char const* plain = "mpi";

/// The calls of one program, and how long they take with each candidate.
struct Cell {
    std::string name;
    Signature signature;
    std::vector<Candidate> candidates;  // the rule's choice first
    bool measured_unasked = false;      // as OnlineTuner has it
    /// By name of the candidate: blocks of calls, the first of each by a new process.
    std::map<std::string, std::vector<std::vector<double>>> seconds;
};

/// What one run took, by who chose.
struct Outcome {
    double best_fixed = 0;  // of the selector's candidates
    double plain = 0;       // the MPI library, without Unisono
    double rule = 0;
    double unasked = 0;  // measured where nobody has asked for it
    double measured = 0;
    double remembered = 0;  // measured, after a run of 100 calls
    double paper = 0;       // examined as in the paper
};

Candidate candidate_named(std::string const& name) {
    for (auto const variation : Candidate::all_variations)
        for (auto const* strategy : all_strategies())
            if (Candidate const candidate{strategy, variation}; name_of(candidate) == name)
                return candidate;
    throw std::runtime_error{"no candidate is called " + name};
}

Cell cell_from(nlohmann::ordered_json const& json) {
    Cell cell{.name = json.at("name"),
              .signature = {.direction =
                                json.at("direction") == "read" ? Direction::read : Direction::write,
                            .ranks = json.at("ranks"),
                            .nodes = json.at("nodes"),
                            .requests = json.at("pieces"),
                            .bytes = json.at("bytes")},
              .seconds = json.at("seconds")};
    cell.signature.storage_key = hash64(cell.name);  // cells know nothing of each other
    Topology const topology = make_topology(std::vector<std::uint32_t>(cell.signature.ranks, 0));
    Facts const facts{.direction = cell.signature.direction,
                      .topology = &topology,
                      .bytes = cell.signature.bytes,
                      .pieces = cell.signature.requests,
                      .local_storage = json.at("local")};
    for (auto const& [name, seconds] : json.at("seconds").items())
        if (name != plain)
            cell.candidates.push_back(with_cost_bounds(candidate_named(name), facts));
    cell.measured_unasked = !facts.local_storage && cell.candidates[0].strategy == &two_phase;
    return cell;
}

/// One possible course of events: call i of the run, if candidate c does it. The first calls also
/// set things up. The windows that staged strategies share are there once one of them has run:
/// in a process of its own, as recorded, each one made them.
class Course {
public:
    Course(Cell const& cell, std::uint64_t seed) : random_{seed} {
        for (auto const& [name, blocks] : cell.seconds) {
            auto& draws = draws_[name];
            auto const& block = blocks[random_() % blocks.size()];
            draws.first_s = block.front();
            draws.second_s = block.size() > 1 ? block[1] : block.front();
            for (std::size_t i = 0; i < long_run; ++i) {
                auto const& any = blocks[random_() % blocks.size()];
                draws.later_s.push_back(any.size() > 1 ? any[1 + random_() % (any.size() - 1)]
                                                       : any.front());
            }
        }
    }
    double operator()(std::string const& name, std::size_t call) {
        auto const& draws = draws_.at(name);
        auto const is_first = done_[name]++ == 0;
        if (!is_first) return draws.later_s[call];
        auto const shares_windows = name.find('+') == std::string::npos && name != "independent" &&
                                    name != "native" && name != plain;
        if (shares_windows && std::exchange(windows_, true)) return draws.second_s;
        return draws.first_s;
    }
    void restart() {
        done_.clear();
        windows_ = false;
    }

private:
    struct Draws {
        double first_s;
        double second_s;
        std::vector<double> later_s;
    };
    std::mt19937_64 random_;
    std::map<std::string, Draws> draws_;
    std::map<std::string, int> done_;
    bool windows_ = false;
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

double run_unasked(Course& course, Cell const& cell, std::size_t calls) {
    if (!cell.measured_unasked) return run_fixed(course, name_of(cell.candidates[0]), calls);
    auto candidates = cell.candidates;
    std::erase_if(candidates, std::not_fn(may_be_tried_unasked));
    MeasuringSelector selector{unasked_budget};
    return run_selector(course, selector, cell.signature, candidates, calls);
}

// Over all games: who wins a single one by luck is not the best.
std::string best_of(Cell const& cell, std::size_t calls) {
    auto const total = [&](Candidate const& candidate) {
        double sum = 0;
        for (std::uint64_t game = 0; game < games; ++game) {
            Course course{cell, game};
            sum += run_fixed(course, name_of(candidate), calls);
        }
        return sum;
    };
    return name_of(*std::ranges::min_element(cell.candidates, {}, total));
}

Outcome play(Cell const& cell, std::string const& best, std::uint64_t seed, std::size_t calls) {
    Course course{cell, seed};
    Outcome outcome;
    outcome.best_fixed = run_fixed(course, best, calls);
    outcome.plain = run_fixed(course, plain, calls);
    outcome.rule = run_fixed(course, name_of(cell.candidates[0]), calls);
    outcome.unasked = run_unasked(course, cell, calls);
    MeasuringSelector cold;
    outcome.measured = run_selector(course, cold, cell.signature, cell.candidates, calls);
    MeasuringSelector earlier, warm;
    Course other{cell, seed + 1000};
    run_selector(other, earlier, cell.signature, cell.candidates, long_run);
    warm.remember({.records = earlier.take_unsaved()});
    outcome.remembered = run_selector(course, warm, cell.signature, cell.candidates, calls);
    auto const paper = make_paper_selector();
    outcome.paper = run_selector(course, *paper, cell.signature, cell.candidates, calls);
    return outcome;
}

/// Throughput of one over that of another, a number for each cell: the mean over the games.
struct Ratios {
    char const* what;
    std::size_t calls;
    double (*ratio)(Outcome const&);
    double median_least;  // for --check, a little below what there is
    double worst_least;
    std::vector<double> by_cell = {};
    std::vector<std::string> names = {};

    void add(Cell const& cell, std::vector<Outcome> const& outcomes) {
        double sum = 0;
        for (auto const& outcome : outcomes) sum += ratio(outcome);
        by_cell.push_back(sum / static_cast<double>(outcomes.size()));
        names.push_back(cell.name);
    }
    [[nodiscard]] double median() const {
        auto sorted = by_cell;
        std::ranges::sort(sorted);
        return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    }
    [[nodiscard]] std::size_t worst() const {
        return static_cast<std::size_t>(std::ranges::min_element(by_cell) - by_cell.begin());
    }
    // False where it is missed.
    [[nodiscard]] bool print() const {
        auto const missed = median() < median_least || by_cell[worst()] < worst_least;
        std::printf("%-46s %3zu calls: median %.3f, worst %.3f (%s) of %zu cells%s\n", what, calls,
                    median(), by_cell[worst()], names[worst()].c_str(), by_cell.size(),
                    missed ? "  MISSED" : "");
        return !missed;
    }
};

std::vector<Ratios> questions() {
    auto const paper = [](Outcome const& o) { return o.best_fixed / o.paper; };
    return {
        {"rule / best fixed", long_run, [](auto const& o) { return o.best_fixed / o.rule; }, 0, 0},
        {"without a setting / rule", long_run, [](auto const& o) { return o.rule / o.unasked; },
         0.98, 0.97},
        {"without a setting / rule", short_run, [](auto const& o) { return o.rule / o.unasked; },
         0.98, 0.95},
        {"measured / best fixed", long_run, [](auto const& o) { return o.best_fixed / o.measured; },
         0.95, 0.80},
        {"measured, with memory / best fixed", long_run,
         [](auto const& o) { return o.best_fixed / o.remembered; }, 0.98, 0.89},
        {"measured / rule", long_run, [](auto const& o) { return o.rule / o.measured; }, 0.98,
         0.88},
        {"measured, with memory / rule", long_run,
         [](auto const& o) { return o.rule / o.remembered; }, 0.99, 0.94},
        {"measured / rule", short_run, [](auto const& o) { return o.rule / o.measured; }, 0.98,
         0.85},
        {"measured / plain MPI library", short_run,
         [](auto const& o) { return o.plain / o.measured; }, 1.5, 0.70},
        {"measured, with memory / plain MPI library", short_run,
         [](auto const& o) { return o.plain / o.remembered; }, 1.5, 0.70},
        {"as in the paper / best fixed", long_run, paper, 0, 0},
        {"as in the paper / best fixed", short_run, paper, 0, 0},
    };
}

void ask(Cell const& cell, std::vector<Ratios>& asked, bool verbose) {
    for (auto const calls : {long_run, short_run}) {
        std::vector<Outcome> outcomes;
        auto const best = best_of(cell, calls);
        for (std::uint64_t game = 0; game < games; ++game)
            outcomes.push_back(play(cell, best, game, calls));
        for (auto& question : asked)
            if (question.calls == calls) question.add(cell, outcomes);
        if (!verbose || calls != long_run) continue;
        auto const mean = [&](double Outcome::*who) {
            double sum = 0;
            for (auto const& outcome : outcomes) sum += outcome.best_fixed / outcome.*who;
            return sum / games;
        };
        std::printf(
            "%-36s rule %.3f unasked %.3f measured %.3f memory %.3f paper %.3f plain %.3f; %s\n",
            cell.name.c_str(), mean(&Outcome::rule), mean(&Outcome::unasked),
            mean(&Outcome::measured), mean(&Outcome::remembered), mean(&Outcome::paper),
            mean(&Outcome::plain), best.c_str());
    }
}

int replay(std::string const& path, bool verbose) {
    std::ifstream file{path};
    auto const recorded = nlohmann::ordered_json::parse(file);
    // The selector was tuned on one half of the cells.
    std::map<std::string, std::vector<Ratios>> asked{{"tuned on", questions()},
                                                     {"not tuned on", questions()}};
    auto tuned = false;
    for (auto const& json : recorded.at("cells")) {
        tuned = !tuned;
        ask(cell_from(json), asked.at(tuned ? "tuned on" : "not tuned on"), verbose);
    }
    bool missed = false;
    for (auto const& [half, about_half] : asked) {
        std::printf("%s:\n", half.c_str());
        for (auto const& question : about_half) missed = !question.print() || missed;
    }
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
