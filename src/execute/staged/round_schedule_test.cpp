#include "execute/staged/round_schedule.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "access/copy.hpp"

namespace unisono {
namespace {

std::set<std::uint64_t> bytes_of(Realm const& realm) {
    std::set<std::uint64_t> bytes;
    walk(realm.tiling, realm.positions, [&](std::int64_t offset, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) bytes.insert(std::uint64_t(offset) + i);
    });
    return bytes;
}

std::set<std::uint64_t> common(std::set<std::uint64_t> const& bytes,
                               std::vector<Extent> const& wanted) {
    std::set<std::uint64_t> found;
    for (auto const byte : bytes)
        for (auto const& extent : wanted)
            if (extent.begin <= byte && byte < extent.end) found.insert(byte);
    return found;
}

struct Drawn {
    std::vector<Realm> realms;
    std::vector<Extent> wanted;
    std::uint64_t window_bytes;
};

Drawn draw(std::mt19937_64& engine) {
    auto const below = [&](std::uint64_t limit) { return engine() % limit; };
    Drawn drawn{.window_bytes = 1 + below(40)};
    Extent const range{below(50), 50 + below(300)};
    if (below(2) == 0) {
        auto const unit = 1 + below(20);
        for (std::uint64_t i = 0; i < 3; ++i)
            drawn.realms.push_back(striped_realm(i * unit, unit, 3 * unit, range));
    } else {
        auto const cut = range.begin + below(range.bytes());
        drawn.realms = {contiguous_realm({range.begin, cut}), Realm{},
                        contiguous_realm({cut, range.end})};
    }
    for (auto at = below(60); at < range.end; at += 1 + below(60)) {
        auto const end = at + 1 + below(60);
        drawn.wanted.push_back({at, end});
        at = end;
    }
    return drawn;
}

TEST(RoundSchedule, windows_have_the_wanted_bytes_of_each_realm_once_in_order) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 engine{seed};
        auto const [realms, wanted, window_bytes] = draw(engine);
        RoundSchedule schedule{realms, window_bytes, wanted};
        std::vector<std::set<std::uint64_t>> met(realms.size());
        std::uint64_t rounds = 0;
        while (schedule.any_left()) {
            auto const round = schedule.next();
            EXPECT_EQ(round.number, rounds++);
            EXPECT_EQ(round.last, !schedule.any_left());
            for (std::size_t i = 0; i < realms.size(); ++i) {
                EXPECT_LE(round.bytes(i), schedule.window_bytes());
                std::uint64_t at = 0;
                for (auto const& part : round.parts[i]) {
                    EXPECT_EQ(part.at, at) << "side by side in the window";
                    EXPECT_EQ((part.at | part.file.begin | part.file.end) &
                                  ((schedule.alignment() & -schedule.alignment()) - 1),
                              0u);
                    for (auto byte = part.file.begin; byte < part.file.end; ++byte) {
                        EXPECT_TRUE(met[i].empty() || *met[i].rbegin() < byte) << "ascending";
                        met[i].insert(byte);
                        EXPECT_TRUE(round.meets(i, {byte, byte + 1}));
                    }
                    at += part.file.bytes();
                }
            }
        }
        std::size_t most = 0, all = 0;
        for (std::size_t i = 0; i < realms.size(); ++i) {
            EXPECT_EQ(met[i], common(bytes_of(realms[i]), wanted));
            most = std::max(most, met[i].size());
            all += met[i].size();
        }
        EXPECT_EQ(schedule.bytes(), all);
        EXPECT_EQ(rounds, schedule.rounds());
        EXPECT_EQ(rounds, all == 0 ? 0 : div_ceil(most, schedule.window_bytes()))
            << "no window has room for what is in a later one";
    }
}

using Window = std::vector<std::pair<Extent, std::uint64_t>>;

// By realm, in the order of rounds; empty ones left out.
std::vector<std::vector<Window>> windows_of(RoundSchedule schedule, std::size_t realms) {
    std::vector<std::vector<Window>> windows(realms);
    while (schedule.any_left()) {
        auto const round = schedule.next();
        for (std::size_t i = 0; i < realms; ++i) {
            if (round.empty(i)) continue;
            auto& window = windows[i].emplace_back();
            for (auto const& part : round.parts[i]) window.emplace_back(part.file, part.at);
        }
    }
    return windows;
}

TEST(RoundSchedule, staggered_has_the_same_windows_each_realm_from_another_one_on) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 engine{seed};
        auto const [realms, wanted, window_bytes] = draw(engine);
        RoundSchedule const together{realms, window_bytes, wanted};
        RoundSchedule const staggered{realms, window_bytes, wanted,
                                      RoundSchedule::Begin::staggered};
        EXPECT_EQ(staggered.rounds(), together.rounds());
        auto expected = windows_of(together, realms.size());
        for (std::size_t i = 0; i < realms.size(); ++i)
            if (auto& windows = expected[i]; !windows.empty())
                std::ranges::rotate(windows, windows.begin() + std::ptrdiff_t(i % windows.size()));
        EXPECT_EQ(windows_of(staggered, realms.size()), expected);
    }
}

// LACIO's figure 7 as it was: a request of one stripe in 64 took a round for each of them.
TEST(RoundSchedule, sparse_requests_are_packed_into_one_window) {
    std::vector<Realm> const realms{contiguous_realm({0, 64 << 20})};
    std::vector<Extent> wanted;
    for (std::uint64_t i = 0; i < 64; ++i) wanted.push_back({i << 20, (i << 20) + 4096});
    RoundSchedule schedule{realms, 512 << 10, wanted};
    EXPECT_EQ(schedule.rounds(), 1u);
    EXPECT_EQ(schedule.next().bytes(0), 64u * 4096);
}

}  // namespace
}  // namespace unisono
