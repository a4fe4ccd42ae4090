#include "simulated/sweep.hpp"

#include <cerrno>

#include "simulated/run_scenario.hpp"

namespace unisono::simulated {
namespace {

// Longer than anything else takes, so that all others come to where they have to wait.
constexpr std::uint64_t stop_ticks = 100'000;

void try_out(Scenario const& scenario, Swept& swept) {
    if (swept.failing) return;
    ++swept.runs;
    if (run(scenario).wrong()) swept.failing = scenario;
}

}  // namespace

Swept sweep(Scenario scenario) {
    Swept swept;
    scenario.conditions.stalls.clear();
    scenario.conditions.faults.clear();
    auto const [awaits, accesses] = [&] {
        auto const ended = run(scenario).ended;
        return std::pair{ended.awaits, ended.accesses};
    }();
    for (std::uint32_t rank = 0; rank < scenario.ranks(); ++rank) {
        auto with = scenario;
        for (std::uint64_t await = 0; await < awaits[rank]; ++await) {
            with.conditions.stalls = {{rank, await, stop_ticks}};
            try_out(with, swept);
        }
        with.conditions.stalls.clear();
        for (std::uint64_t access = 0; access < accesses[rank]; ++access)
            for (int const code : {EIO, ENOSPC}) {
                with.conditions.faults = {{rank, access, code}};
                try_out(with, swept);
            }
    }
    return swept;
}

}  // namespace unisono::simulated
