#pragma once

#include <span>

namespace unisono::orchestra {

/// Jain's index of what each one gets, (sum x)^2 / (n sum x^2): 1 if all get the same, 1/n if one
/// gets everything (Jain, Chiu, Hawe 1984). 1 for nobody and for nothing.
inline double jain_index(std::span<double const> shares) {
    double sum = 0;
    double squares = 0;
    for (double const share : shares) {
        sum += share;
        squares += share * share;
    }
    return squares == 0 ? 1 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace unisono::orchestra
