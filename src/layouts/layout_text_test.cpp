#include "layouts/layout_text.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(LayoutText, is_read_as_people_write_it) {
    struct Case {
        char const* text;
        std::vector<Striping> stripings;
    };
    for (auto const& [text, stripings] : {
             Case{"stripe_bytes=64K,servers=4", {Striping::round_robin(65536, {0, 1, 2, 3})}},
             Case{"servers=3, first=2, stripe_bytes=1000",
                  {Striping::round_robin(1000, {2, 0, 1})}},
             Case{"end=1M,stripe_bytes=64K,servers=1; stripe_bytes=1MiB,servers=2",
                  {Striping::round_robin(65536, {0}, 1 << 20),
                   Striping::round_robin(1 << 20, {0, 1})}},
         }) {
        EXPECT_EQ(parse_layout(text, "text"), Layout::of("text", stripings)) << text;
    }
}

TEST(LayoutText, a_mistake_is_named_with_what_is_valid) {
    struct Case {
        char const* text;
        char const* reason;
    };
    constexpr auto keys = "unknown key \"\"; valid: stripe_bytes, servers, first, end";
    for (auto const& [text, reason] : {
             Case{"", keys},
             Case{";", keys},
             Case{"stripe_bytes=64K,servers=4;", keys},
             Case{"stripe_bytes=64K,,servers=4", keys},
             Case{"stripes=4", "unknown key \"stripes\"; valid: stripe_bytes, servers, first, end"},
             Case{"stripe_bytes=64K", "servers is missing"},
             Case{"servers=4", "stripe_bytes is missing"},
             Case{"stripe_bytes=0,servers=4",
                  "stripe_bytes: \"0\"; valid: a positive size, such as 65536 or 64K"},
             Case{"stripe_bytes,servers=4",
                  "stripe_bytes: \"\"; valid: a positive size, such as 65536 or 64K"},
             Case{"stripe_bytes=64X,servers=4",
                  "stripe_bytes: \"64X\"; valid: a positive size, such as 65536 or 64K"},
             Case{"stripe_bytes=64K,servers=0", "servers: \"0\"; valid: a number from 1 to 65536"},
             Case{"stripe_bytes=64K,servers=-4",
                  "servers: \"-4\"; valid: a number from 1 to 65536"},
             Case{"stripe_bytes=64K,servers=4,first=4", "first is not below servers"},
             Case{"stripe_bytes=64K,servers=4294967295",
                  "servers: \"4294967295\"; valid: a number from 1 to 65536"},
             Case{"stripe_bytes=64K,servers=4;stripe_bytes=64K,servers=4",
                  "components out of order"},
             Case{"end=1M,stripe_bytes=64K,servers=4", "no component for the end of the file"},
             Case{"stripe_bytes=16777215T,servers=4", "stripe unit 18446742974197923840"},
         }) {
        auto const layout = parse_layout(text, "text");
        EXPECT_FALSE(layout.known()) << text;
        EXPECT_EQ(layout.reason, reason) << text;
    }
}

}  // namespace
}  // namespace unisono
