#include "access/fingerprint.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(Fingerprint, tells_loops_apart) {
    EXPECT_EQ(fingerprint({}), Hash128{});
    EXPECT_EQ(fingerprint({8, {{2, 16}}}), fingerprint({8, {{2, 16}}}));
    EXPECT_NE(fingerprint({8, {{2, 16}}}), fingerprint({8, {{16, 2}}}));
    EXPECT_NE(fingerprint({16, {}}), fingerprint({8, {{2, 16}}}));
}

TEST(Fingerprint, of_an_access_does_not_say_where_it_begins) {
    auto const at = [](std::int64_t displacement, std::uint64_t bytes) {
        return fingerprint(Tiling{make_dense(8), displacement, 32}, Positions{0, bytes});
    };
    EXPECT_EQ(at(0, 64), at(4096, 64));
    EXPECT_NE(at(0, 64), at(0, 72));
    EXPECT_EQ(at(0, 0), 0u);
}

}  // namespace
}  // namespace unisono
