#include <algorithm>
#include <array>

#include "orchestra/policy.hpp"

namespace unisono::orchestra {

namespace {

constexpr std::array table{
    PolicyEntry{"default", "dedicated service where it is measured to be cheaper",
                "iorchestrator-sc10, mended", make_default_policy},
    PolicyEntry{"paper", "exactly as written", "iorchestrator-sc10, section III.C",
                make_paper_policy},
    PolicyEntry{"paper-linux", "as written, but the newest sample weighs 1/8, as in Linux",
                "iorchestrator-sc10, section III.B: similar to Linux's", make_paper_linux_policy},
    PolicyEntry{"paper-kept",
                "as paper-linux; SL_i stays as it was without slices, so they are kept",
                "iorchestrator-sc10, sections III.B and IV.B (figure 3)", make_paper_kept_policy},
    PolicyEntry{"even", "equal slices for all programs", "iorchestrator-sc10, section IV.C",
                make_even_policy},
    PolicyEntry{"one-at-a-time",
                "a window for each program that wants one, first come first served",
                "song-yin-sun-thakur-lang-sc11", make_one_at_a_time_policy},
    PolicyEntry{"sets", "one of each order of magnitude of the time between I/O phases",
                "io-sets (boito-pallez-teylo-vidal)", make_sets_policy},
};

}  // namespace

std::span<PolicyEntry const> policies() { return table; }

PolicyEntry const* find_policy(std::string_view name) {
    auto const found = std::ranges::find(table, name, &PolicyEntry::name);
    return found == table.end() ? nullptr : &*found;
}

}  // namespace unisono::orchestra
