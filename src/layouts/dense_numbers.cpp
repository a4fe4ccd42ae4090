#include <algorithm>

#include "layouts/parsers.hpp"

namespace unisono {

std::vector<std::uint32_t> dense_numbers(std::span<std::uint32_t const> identities) {
    std::vector<std::uint32_t> distinct(identities.begin(), identities.end());
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<std::uint32_t> numbers;
    numbers.reserve(identities.size());
    for (auto const identity : identities)
        numbers.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(distinct, identity) -
                                                     distinct.begin()));
    return numbers;
}

}  // namespace unisono
