#include "support/hash.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

// From the specification of XXH3: daemons and programs of different builds meet at a gate.
TEST(Hash, is_the_same_in_every_build) {
    EXPECT_EQ(hash64(std::string_view{}), 0x2d06800538d394c2u);
    EXPECT_EQ(hash128({}), (Hash128{0x6001c324468d497fu, 0x99aa06d3014798d8u}));
}

TEST(Hash, depends_on_every_number_and_their_order) {
    std::array<std::uint64_t, 40> numbers{};
    auto const plain = hash128(numbers);
    EXPECT_NE(hash128(std::span{numbers}.first(39)), plain);
    for (auto& number : numbers) {
        number = 1;
        EXPECT_NE(hash128(numbers), plain);
        EXPECT_NE(hash64(numbers), hash64(std::array<std::uint64_t, 40>{}));
        number = 0;
    }
    auto swapped = numbers;
    numbers[3] = 1;
    swapped[4] = 1;
    EXPECT_NE(hash128(numbers), hash128(swapped));
}

TEST(Hash, numbers_are_hashed_as_their_bytes) {
    std::uint64_t const number = 0x6867666564636261;  // little-endian
    EXPECT_EQ(hash64({&number, 1}), hash64("abcdefgh"));
}

}  // namespace
}  // namespace unisono
