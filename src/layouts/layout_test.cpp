#include "unisono/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "layouts/byte_units.hpp"

namespace unisono {
namespace {

/// The bytes of a realm, one by one.
std::vector<std::uint64_t> offsets_of(Realm const& realm) {
    std::vector<std::uint64_t> offsets;
    for (auto at = realm.positions.begin; at < realm.positions.end; ++at)
        offsets.push_back(static_cast<std::uint64_t>(offset_of(realm.tiling, at)));
    return offsets;
}

TEST(Layout, round_robin_deals_units_in_turn) {
    auto const layout = Layout::of("test", {Striping::round_robin(64 * kib, {2, 3, 0, 1})});
    EXPECT_TRUE(layout.known());
    EXPECT_EQ(layout.servers(), 4u);
    EXPECT_EQ(layout.server_of(0), 2u);
    EXPECT_EQ(layout.server_of(64 * kib - 1), 2u);
    EXPECT_EQ(layout.server_of(64 * kib), 3u);
    EXPECT_EQ(layout.server_of(4 * 64 * kib), 2u);
    EXPECT_EQ(layout.object_offset(4 * 64 * kib + 5), 64 * kib + 5);
    EXPECT_EQ(layout.unit_at(1 << 30), 64 * kib);
}

TEST(Layout, round_robin_far_into_a_file_costs_a_handful_of_numbers) {
    auto const layout = Layout::of("test", {Striping::round_robin(mib, {0, 1, 2})});
    auto const realm = layout.bytes_of(1, {0, std::uint64_t{3} << 60});
    EXPECT_EQ(realm.bytes(), std::uint64_t{1} << 60);
    EXPECT_LE(realm.tiling.shape->depth, 2u);
    auto const offset = (std::uint64_t{3} << 60) + mib;
    EXPECT_EQ(layout.server_of(offset), 1u);
    EXPECT_EQ(layout.object_offset(offset), std::uint64_t{1} << 60);
}

// The picture in layout.hpp.
TEST(Layout, objects_that_are_full_give_way_to_the_next_ones) {
    auto const layout =
        Layout::of("test", {{.unit = 1, .object_bytes = 3, .width = 2, .servers = {0, 1, 2, 3}}});
    std::vector<std::uint32_t> servers;
    for (std::uint64_t offset = 0; offset < 13; ++offset)
        servers.push_back(layout.server_of(offset));
    EXPECT_EQ(servers, (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0}));
    EXPECT_EQ(offsets_of(layout.bytes_of(1, {2, 15})), (std::vector<std::uint64_t>{3, 5, 13}));
    EXPECT_EQ(layout.object_offset(13), 3u);
}

TEST(Layout, components_have_their_own_units) {
    auto const layout =
        Layout::of("test", {Striping::round_robin(2, {0}, 4), Striping::round_robin(3, {0, 1})});
    std::vector<std::uint32_t> servers;
    for (std::uint64_t offset = 0; offset < 9; ++offset)
        servers.push_back(layout.server_of(offset));
    EXPECT_EQ(servers, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 0, 0, 0}));
    EXPECT_EQ(layout.unit_at(3), 2u);
    EXPECT_EQ(layout.unit_at(4), 3u);
    EXPECT_EQ(layout.unit_end(3), 4u);
    EXPECT_EQ(layout.unit_end(6), 9u);
    EXPECT_EQ(layout.object_offset(6), 4u);
    EXPECT_EQ(layout.object_offset(5), 1u);
}

TEST(Layout, units_can_be_known_without_servers) {
    auto const layout = Layout::of("gpfs", {{.unit = 4 * mib, .object_bytes = 4 * mib}}, "why");
    EXPECT_FALSE(layout.known());
    EXPECT_EQ(layout.unit_at(0), 4 * mib);
    EXPECT_EQ(layout.describe(), "4 MiB units, servers unknown (gpfs: why)");
}

TEST(Layout, describes_itself_in_one_line) {
    auto const of = [](std::vector<Striping> stripings) {
        return Layout::of("x", std::move(stripings)).describe();
    };
    EXPECT_EQ(of({Striping::round_robin(64 * kib, {0, 1, 2, 3})}), "64 KiB over 4 servers (x)");
    EXPECT_EQ(of({Striping::round_robin(4096, {0})}), "one server (x)");
    EXPECT_EQ(of({Striping::round_robin(64 * kib, {0}, mib), Striping::round_robin(1000, {0, 1})}),
              "64 KiB up to 1 MiB, then 1000 bytes over 2 servers (x)");
    EXPECT_EQ(of({{.unit = kib, .object_bytes = mib, .width = 2, .servers = {0, 1, 2, 3}}}),
              "1 KiB over 4 servers, 2 objects of 1 MiB in turn (x)");
    EXPECT_EQ(Layout::unknown("lustre", "foreign layout").describe(),
              "unknown (lustre: foreign layout)");
    EXPECT_EQ(Layout().describe(), "unknown (nobody has looked)");
}

TEST(Layout, what_cannot_be_is_unknown) {
    constexpr auto huge = std::uint64_t{1} << 60;
    auto const good = Striping::round_robin(4, {0, 1});
    std::vector<std::vector<Striping>> const impossible{
        {},
        {Striping::round_robin(0, {0, 1})},
        {Striping::round_robin(huge, {0, 1})},
        {Striping::round_robin(4, {0, 1}, 100)},
        {Striping::round_robin(4, {0, 70000})},
        {Striping::round_robin(4, std::vector<std::uint32_t>(70000, 0))},
        {Striping::round_robin(4, {0}, 100), Striping::round_robin(4, {0}, 100), good},
        {Striping::round_robin(4, {0}, 0), good},
        {good, good},
        {{.unit = 4, .object_bytes = 0, .servers = {0}}},
        {{.unit = 4, .object_bytes = 6, .servers = {0}}},
        {{.unit = 4, .object_bytes = 8, .width = 0, .servers = {0}}},
        {{.unit = 4, .object_bytes = 8, .width = 2, .servers = {0, 1, 2}}},
        {{.unit = 4, .object_bytes = huge, .servers = {0, 1, 2}}},
    };
    for (auto const& stripings : impossible) {
        auto const layout = Layout::of("test", stripings);
        EXPECT_FALSE(layout.known()) << layout.describe();
        EXPECT_FALSE(layout.reason.empty());
        EXPECT_EQ(layout.unit_at(0), 0u);
    }
}

class RandomLayouts {
public:
    Layout next() {
        std::vector<Striping> stripings;
        auto const components = below(3) + 1;
        std::uint64_t end = 0;
        for (std::uint64_t i = 0; i < components; ++i) {
            end = i + 1 == components ? Striping::no_end : end + 1 + below(60);
            stripings.push_back(striping(end));
        }
        return Layout::of("random", std::move(stripings));
    }
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

private:
    Striping striping(std::uint64_t end) {
        Striping result{.end = end, .unit = below(7) + 1};
        auto const declustered = below(2) == 1;
        result.width = declustered ? static_cast<std::uint32_t>(below(4) + 1) : 1;
        result.object_bytes = result.unit * (declustered ? below(4) + 1 : 1);
        result.servers.resize(result.width * (below(4) + 1));
        // Few enough that overstriping is common.
        for (auto& server : result.servers) server = static_cast<std::uint32_t>(below(5));
        return result;
    }

    std::mt19937 random_{2011};
};

// From the definition of Striping, byte by byte.
std::uint32_t expected_server(Layout const& layout, std::uint64_t offset) {
    auto const striping = *std::ranges::find_if(
        layout.stripings(), [&](Striping const& candidate) { return offset < candidate.end; });
    std::uint64_t first_object = 0;
    std::vector<std::uint64_t> filled(striping.width, 0);
    std::uint32_t turn = 0;
    for (std::uint64_t at = 0; at < offset; ++at) {
        if (++filled[turn] % striping.unit == 0) turn = (turn + 1) % striping.width;
        if (turn == 0 && filled.back() == striping.object_bytes) {
            first_object += striping.width;
            filled.assign(striping.width, 0);
        }
    }
    return striping.servers[(first_object + turn) % striping.servers.size()];
}

TEST(RandomLayout, servers_are_those_of_the_definition) {
    RandomLayouts random;
    for (int i = 0; i < 100; ++i) {
        auto const layout = random.next();
        ASSERT_TRUE(layout.known()) << layout.describe();
        for (std::uint64_t offset = 0; offset < 200; offset += 1 + random.below(5))
            ASSERT_EQ(layout.server_of(offset), expected_server(layout, offset))
                << layout.describe() << " at " << offset;
    }
}

TEST(RandomLayout, servers_tile_every_range_in_ascending_order) {
    RandomLayouts random;
    for (int i = 0; i < 500; ++i) {
        auto const layout = random.next();
        auto const begin = random.below(300);
        Extent const range{begin, begin + random.below(300)};
        std::vector<std::uint64_t> all;
        for (std::uint32_t server = 0; server < layout.servers(); ++server) {
            auto const realm = layout.bytes_of(server, range);
            auto const offsets = offsets_of(realm);
            ASSERT_EQ(realm.bytes(), offsets.size()) << layout.describe();
            ASSERT_TRUE(realm.empty() || realm.tiling.ascending()) << layout.describe();
            ASSERT_TRUE(std::ranges::is_sorted(offsets)) << layout.describe();
            for (std::size_t k = 0; k < offsets.size(); ++k) {
                ASSERT_EQ(layout.server_of(offsets[k]), server) << layout.describe();
                ASSERT_EQ(layout.object_offset(offsets[k]), layout.object_offset(offsets[0]) + k)
                    << layout.describe() << " at " << offsets[k];
            }
            if (!offsets.empty() && begin == 0) {
                EXPECT_EQ(layout.object_offset(offsets[0]), 0u);
            }
            all.insert(all.end(), offsets.begin(), offsets.end());
        }
        std::ranges::sort(all);
        std::vector<std::uint64_t> whole(range.bytes());
        std::iota(whole.begin(), whole.end(), range.begin);
        ASSERT_EQ(all, whole) << layout.describe();
    }
}

TEST(LayoutBytes, survive_the_journey) {
    RandomLayouts random;
    for (int i = 0; i < 20; ++i) {
        auto const layout = random.next();
        EXPECT_EQ(layout_from_bytes(to_bytes(layout)), layout);
    }
    for (auto const& layout :
         {Layout(), Layout::unknown("lustre", "foreign layout"),
          Layout::of("gpfs", {{.unit = mib, .object_bytes = mib}}, "servers are not told")})
        EXPECT_EQ(layout_from_bytes(to_bytes(layout)), layout) << layout.describe();
}

TEST(LayoutBytes, refuse_what_was_cut_off) {
    auto const bytes = to_bytes(RandomLayouts{}.next());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(layout_from_bytes(std::span(bytes).first(size))) << size;
}

TEST(LayoutBytes, refuse_or_make_sense_of_any_changed_byte) {
    RandomLayouts random;
    auto const original = to_bytes(random.next());
    for (std::size_t at = 0; at < original.size(); ++at) {
        auto bytes = original;
        bytes[at] = static_cast<std::byte>(random.below(256));
        auto const layout = layout_from_bytes(bytes);
        if (layout && layout->known()) {
            EXPECT_LT(layout->server_of(12345), layout->servers());
        }
    }
}

}  // namespace
}  // namespace unisono
