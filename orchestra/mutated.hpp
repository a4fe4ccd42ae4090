#pragma once

#include <random>
#include <string>

namespace unisono::orchestra {

/// For tests: one to four changes to a text, each a letter changed, some left out, or one put in.
inline std::string mutated(std::string text, std::mt19937& dice) {
    for (auto changes = 1 + dice() % 4; changes > 0 && !text.empty(); --changes) {
        auto const at = dice() % text.size();
        // Digits often: they make other messages, not only broken ones.
        auto const letter = static_cast<char>(dice() % 2 == 0 ? '0' + dice() % 10 : dice() % 256);
        switch (dice() % 3) {
            case 0:
                text[at] = letter;
                break;
            case 1:
                text.erase(at, 1 + dice() % 8);
                break;
            default:
                text.insert(at, 1, letter);
        }
    }
    return text;
}

}  // namespace unisono::orchestra
