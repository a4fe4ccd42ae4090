#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuzz {

/// A small deterministic generator (SplitMix64): the same seed gives the same case everywhere.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }

    /// Uniform in [0, limit); 0 when limit is 0.
    std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : next() % limit; }

    /// Uniform in [low, high], both included.
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
    }

    bool chance(unsigned percent) { return below(100) < percent; }

    /// Every order of magnitude below `limit` is equally likely, so that small values are common.
    std::uint64_t small_below(std::uint64_t limit) {
        unsigned bits = 0;
        while (bits < 63 && (1ull << bits) < limit) ++bits;
        std::uint64_t const ceiling = 1ull << below(bits + 1);
        return below(ceiling < limit ? ceiling : limit);
    }

    template <class T>
    T const& pick(std::vector<T> const& choices) {
        return choices[below(choices.size())];
    }

private:
    std::uint64_t state_;
};

/// Fills `bytes` with the pattern of `seed`; every rank can compute every other rank's data.
inline void fill_pattern(std::uint64_t seed, std::vector<std::uint8_t>& bytes) {
    Random random(seed);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i % 8 == 0) word = random.next();
        bytes[i] = static_cast<std::uint8_t>(word >> (i % 8 * 8));
    }
}

}  // namespace fuzz
