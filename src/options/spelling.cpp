#include "options/spelling.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace unisono {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // One row of the usual table per letter of `a`; swaps look back two rows.
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before = std::exchange(last, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            auto const replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

std::string_view likely_meant(std::string_view word, std::span<std::string_view const> names) {
    std::string_view nearest;
    auto distance = word.size() / 3 + 1;
    for (auto const name : names) {
        auto const its = edit_distance(word, name);
        if (its >= distance) continue;
        distance = its;
        nearest = name;
    }
    return nearest;
}

}  // namespace unisono
