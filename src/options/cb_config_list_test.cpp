#include "options/cb_config_list.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

using Limits = std::vector<AggregatorLimit>;

TEST(CbConfigList, reads_hosts_numbers_and_stars) {
    EXPECT_EQ(parse_cb_config_list("*:4"), (Limits{{"*", 4}}));
    EXPECT_EQ(parse_cb_config_list("n01"), (Limits{{"n01", 1}}));
    EXPECT_EQ(parse_cb_config_list("n01:0, n02:*,*:2"),
              (Limits{{"n01", 0}, {"n02", AggregatorLimit::all}, {"*", 2}}));
}

TEST(CbConfigList, refuses_what_is_malformed) {
    for (auto const* text : {"", ":4", "n01:", "n01:x", "n01:-1", "n01:1,,n02", "*:4 8"}) {
        EXPECT_FALSE(parse_cb_config_list(text)) << '"' << text << '"';
    }
}

TEST(CbConfigList, leftmost_entry_counts_and_ranks_are_the_limit) {
    std::vector<std::string> const nodes{"a", "b", "c", "d"};
    std::vector<std::uint32_t> const ranks{8, 8, 2, 8};
    auto const spread = [&](char const* list) {
        return aggregators_per_node(*parse_cb_config_list(list), nodes, ranks);
    };
    EXPECT_EQ(spread("b:3,b:7,*:4"), (std::vector<std::uint32_t>{4, 3, 2, 4}));
    EXPECT_EQ(spread("*:*"), (std::vector<std::uint32_t>{8, 8, 2, 8}));
    EXPECT_EQ(spread("c:*,d"), (std::vector<std::uint32_t>{0, 0, 2, 1}));
}

}  // namespace
}  // namespace unisono
