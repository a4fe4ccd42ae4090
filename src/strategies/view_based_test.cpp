#include <gtest/gtest.h>

#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

TEST(ViewBased, ranks_of_a_node_waited_while_one_of_them_read_a_long_block) {
    auto const block_kib = [](std::vector<std::uint32_t> const& nodes, bool read_only,
                              std::uint64_t cb_buffer_size = 0) {
        auto const topology = make_topology(nodes);
        Layout const layout;
        Options options;
        options.cb_buffer_size = cb_buffer_size;
        Facts const facts{.direction = Direction::read,
                          .topology = &topology,
                          .layout = &layout,
                          .read_only = read_only};
        return view_based.plan(facts, options).block_bytes / 1024;
    };
    EXPECT_EQ(block_kib({0, 0}, true), 512u);
    EXPECT_EQ(block_kib({0, 0}, false), 4096u) << "what is written goes to the file in blocks";
    EXPECT_EQ(block_kib({0, 1}, true), 4096u);
    EXPECT_EQ(block_kib({0, 0}, true, 1 << 20), 1024u) << "asked for";
}

}  // namespace
}  // namespace unisono
