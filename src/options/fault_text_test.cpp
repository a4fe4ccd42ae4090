#include "options/fault_text.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace unisono {
namespace {

TEST(ParseFaults, reads_every_form) {
    auto const parsed = parse_faults(
        "write@4096=ENOSPC,read@0=5,write=short,read=short,write=delay:250,"
        "sync=EIO,close=EDQUOT");
    ASSERT_TRUE(parsed);
    auto const& faults = *parsed;
    ASSERT_EQ(faults.size(), 7u);
    EXPECT_EQ(faults[0].direction, Direction::write);
    EXPECT_EQ(faults[0].offset, 4096u);
    EXPECT_EQ(faults[0].code, ENOSPC);
    EXPECT_EQ(faults[1].direction, Direction::read);
    EXPECT_EQ(faults[1].code, EIO);
    EXPECT_EQ(faults[3].kind, Fault::Kind::short_transfers);
    EXPECT_EQ(faults[4].delay_us, 250u);
    EXPECT_EQ(faults[5].kind, Fault::Kind::sync);
    EXPECT_EQ(faults[5].code, EIO);
    EXPECT_EQ(faults[6].kind, Fault::Kind::close);
    EXPECT_EQ(faults[6].code, EDQUOT);
}

TEST(ParseFaults, takes_an_empty_text_for_none) {
    auto const parsed = parse_faults("");
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(parsed->empty());
}

TEST(ParseFaults, reads_no_other_form) {
    for (auto const* const wrong :
         {"write", "write@=EIO", "write@1", "write@1=ENOSUCHNAME", "write@1=0", "write@-1=EIO",
          "write@1=EIO ", "sync=short", "read=delay:", "read=delay:1ms", "write=short,,read=short"})
        EXPECT_FALSE(parse_faults(wrong)) << wrong;
}

}  // namespace
}  // namespace unisono
