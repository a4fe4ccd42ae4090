// Plays recorded timings of single calls to selectors, and says how much of the best fixed
// candidate's throughput they reach: the selectors' own regret, the same each time.
//
//     selection_replay timings.json [--check]
//
// --check: exit code 1 when the measuring selector falls clearly below what it reaches today
// (docs/performance.md), which is not yet what it should. --cells: a line for each cell.
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
};

/// What one run took, by who chose.
struct Outcome {
    double best_fixed = 0;  // of the selector's candidates
    double native = 0;
    double rule = 0;
    double measured = 0;
    double remembered = 0;  // measured, after a run of 100 calls
    double paper = 0;       // examined as in the paper
};

// Selectors know candidates by their strategies; ways that are none of ours get a stand-in.
Strategy const* strategy_named(std::string const& name) {
    if (auto const* const known = find_strategy(name)) return known;
    static std::map<std::string, Strategy, std::less<>> others;
    auto const entry = others.try_emplace(name).first;
    entry->second.name = entry->first;
    return &entry->second;
}

// The rule's choice first, then those that a selector may choose, in the order of the recording.
std::vector<Candidate> candidates_of(nlohmann::ordered_json const& json, std::string const& rule) {
    auto const excluded = json.at("excluded").get<std::vector<std::string>>();
    auto const& feared_s = json.at("feared_s");
    std::vector<Candidate> found{{strategy_named(rule)}};
    for (auto const& [name, seconds] : json.at("seconds").items()) {
        if (name == rule || std::ranges::find(excluded, name) != excluded.end()) continue;
        found.push_back({strategy_named(name), Candidate::Variation::none,
                         feared_s.contains(name) ? feared_s.at(name).get<double>() : 0});
    }
    return found;
}

Cell cell_from(nlohmann::ordered_json const& json, std::string const& rule) {
    Cell cell{.name = json.at("name").get<std::string>() + ", " + rule + " first",
              .signature = {.direction =
                                json.at("direction") == "read" ? Direction::read : Direction::write,
                            .ranks = json.at("ranks"),
                            .bytes = json.at("bytes")},
              .candidates = candidates_of(json, rule),
              .seconds = json.at("seconds")};
    cell.signature.place = std::hash<std::string>{}(cell.name);  // cells know nothing of each other
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
        return sorted[sorted.size() / 2];
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
        {"measured / best fixed", long_run, [](auto const& o) { return o.best_fixed / o.measured; },
         0.87, 0.45},
        {"measured, with memory / best fixed", long_run,
         [](auto const& o) { return o.best_fixed / o.remembered; }, 0.97, 0.70},
        {"measured / rule", long_run, [](auto const& o) { return o.rule / o.measured; }, 0.93,
         0.76},
        {"measured, with memory / rule", long_run,
         [](auto const& o) { return o.rule / o.remembered; }, 0.99, 0.70},
        {"measured / rule", short_run, [](auto const& o) { return o.rule / o.measured; }, 0.91,
         0.71},
        {"measured / native", short_run, [](auto const& o) { return o.native / o.measured; }, 2.5,
         0.79},
        {"measured, with memory / native", short_run,
         [](auto const& o) { return o.native / o.remembered; }, 3.5, 0.90},
        {"as in the paper / best fixed", long_run, paper, 0, 0},
        {"as in the paper / best fixed", short_run, paper, 0, 0},
    };
}

void ask(Cell const& cell, std::vector<Ratios>& asked, bool verbose) {
    for (auto const calls : {long_run, short_run}) {
        std::vector<Outcome> outcomes;
        for (std::uint64_t game = 0; game < games; ++game)
            outcomes.push_back(play(cell, game, calls));
        for (auto& question : asked)
            if (question.calls == calls) question.add(cell, outcomes);
        if (!verbose || calls != long_run) continue;
        auto const& o = outcomes[0];
        std::printf("%-52s rule %.3f measured %.3f memory %.3f native %.3f\n", cell.name.c_str(),
                    o.best_fixed / o.rule, o.best_fixed / o.measured, o.best_fixed / o.remembered,
                    o.best_fixed / o.native);
    }
}

int replay(std::string const& path, bool verbose) {
    std::ifstream file{path};
    auto const recorded = nlohmann::ordered_json::parse(file);
    std::map<std::string, std::vector<Ratios>> asked;  // by who is first
    for (auto const& json : recorded.at("cells"))
        for (auto const& rule : json.at("rules")) {
            auto const first = rule.get<std::string>();
            auto& mine = asked.try_emplace(first, questions()).first->second;
            ask(cell_from(json, first), mine, verbose);
        }
    bool missed = false;
    for (auto const& [first, about_first] : asked) {
        std::printf("%s first:\n", first.c_str());
        for (auto const& question : about_first) missed = !question.print() || missed;
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
