#include "access/external32.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace unisono {
namespace {

constexpr Unit byte{};
constexpr Unit int4{Unit::Kind::number, 4, 4};
constexpr Unit short2{Unit::Kind::number, 2, 2};
constexpr Unit long8{Unit::Kind::integer, 8, 4};
constexpr Unit unsigned8{Unit::Kind::natural, 8, 4};
constexpr Unit extended{Unit::Kind::extended, 16, 16};

Units units_of(std::vector<Units::Run> const& runs) { return Units{runs}; }

template <class Number>
std::string in_file(Unit const& unit, Number const& number) {
    std::vector<std::byte> packed(unit.external_bytes);
    Packed const memory{sizeof number};
    to_external32(units_of({{unit}}), memory.at(reinterpret_cast<std::byte const*>(&number)),
                  packed.data());
    std::string text;
    for (auto const one : packed) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(one));
        text += digits;
    }
    return text;
}

template <class Number>
Number there_and_back(Unit const& unit, Number const& number) {
    std::vector<std::byte> packed(unit.external_bytes);
    Number back;
    std::memset(&back, 0x55, sizeof back);
    Packed const memory{sizeof number};
    auto const units = units_of({{unit}});
    to_external32(units, memory.at(reinterpret_cast<std::byte const*>(&number)), packed.data());
    from_external32(units, packed, memory.at(reinterpret_cast<std::byte*>(&back)));
    return back;
}

TEST(External32, is_big_endian) {
    EXPECT_EQ(in_file(int4, 0x01020304), "01020304");
    EXPECT_EQ(in_file(short2, short{0x0102}), "0102");
    EXPECT_EQ(in_file(byte, char{7}), "07");
    EXPECT_EQ(in_file(Unit{Unit::Kind::number, 8, 8}, 1.0), "3ff0000000000000");
}

TEST(External32, has_long_in_four_bytes_and_its_sign) {
    EXPECT_EQ(in_file(long8, -2L), "fffffffe");
    EXPECT_EQ(in_file(long8, 0x0102030405060708L), "05060708");
    EXPECT_EQ(there_and_back(long8, -2L), -2L);
    EXPECT_EQ(there_and_back(long8, 2'000'000'000L), 2'000'000'000L);
    EXPECT_EQ(there_and_back(unsigned8, 0xfffffffeUL), 0xfffffffeUL);
}

// 1.5 has the exponent 16383 = 0x3fff, and 0.5 as its fraction.
TEST(External32, has_long_double_as_binary128) {
    EXPECT_EQ(in_file(extended, 1.5L), "3fff8000000000000000000000000000");
    EXPECT_EQ(in_file(extended, -2.0L), "c0000000000000000000000000000000");
    for (auto const number : {0.0L, 1.0L / 3, -std::numeric_limits<long double>::max(),
                              std::numeric_limits<long double>::denorm_min()})
        EXPECT_EQ(there_and_back(extended, number), number);
    EXPECT_TRUE(std::isnan(there_and_back(extended, std::nanl(""))));
}

TEST(External32, follows_the_units_through_pieces_and_tiles) {
    struct Record {
        std::int32_t number;
        char letter;
        char gap[3];
        long count;
    };
    std::int64_t const offsets[] = {0, 8};
    std::uint64_t const lengths[] = {5, 8};
    Tiling const tiling{make_blocks(offsets, lengths), 0, sizeof(Record)};
    auto const units = units_of({{int4}, {byte}, {long8}});
    Record const written[2] = {{0x01020304, 'a', "no", 5}, {0x05060708, 'b', "no", -6}};
    std::vector<std::byte> packed(18);
    to_external32(units, {tiling, {0, 26}, reinterpret_cast<std::uintptr_t>(written)},
                  packed.data());
    std::string const expected{
        "\1\2\3\4a\0\0\0\5\5\6\7\x8"
        "b\xff\xff\xff\xfa",
        18};
    EXPECT_EQ(std::memcmp(packed.data(), expected.data(), 18), 0);

    Record read[2] = {{0, 0, "x", 0}, {0, 0, "x", 0}};
    from_external32(units, packed, {tiling, {0, 26}, reinterpret_cast<std::uintptr_t>(read)});
    EXPECT_EQ(read[1].number, written[1].number);
    EXPECT_EQ(read[1].letter, 'b');
    EXPECT_EQ(read[1].count, -6);
    EXPECT_EQ(read[0].gap[0], 'x');
}

// Of 16 bytes in the file, 9 are a record, 4 a number, 1 a letter, and 2 no whole long.
TEST(External32, of_a_short_read_whole_units_count) {
    auto const units = units_of({{int4}, {byte}, {long8}});
    EXPECT_EQ(units.external_bytes(26), 18u);
    EXPECT_EQ(units.native_bytes(18), 26u);
    EXPECT_EQ(units.native_bytes(16), 18u);
    EXPECT_EQ(units.native_bytes(3), 0u);
    Units const ints = units_of({{int4}});
    std::vector<std::byte> const packed(6, std::byte{1});
    std::int32_t read[2] = {7, 7};
    Packed const memory{8};
    from_external32(ints, packed, memory.at(reinterpret_cast<std::byte*>(read)));
    EXPECT_EQ(read[0], 0x01010101);
    EXPECT_EQ(read[1], 7);
}

TEST(External32, of_nothing_is_nothing_whatever_it_consists_of) {
    Packed const nothing{0};
    to_external32(Units{}, nothing.at(nullptr), nullptr);
    from_external32(Units{}, {}, nothing.at(nullptr));
}

TEST(External32, units_are_put_together_and_stay_short) {
    Units record;
    EXPECT_TRUE(record.append(units_of({{int4}}), 8));
    EXPECT_TRUE(record.append(units_of({{int4}}), 4));
    EXPECT_TRUE(record.append(units_of({{byte}, {long8}}), 18));
    EXPECT_EQ(record.runs().size(), 5u);
    EXPECT_EQ(record.external_bytes(30), 12u + 10u);
    EXPECT_FALSE(record.append(units_of({{byte}, {long8}}), 9 * 5000));
    EXPECT_FALSE(record.known());
    EXPECT_FALSE(Units{}.append(Units{}, 4));
}

}  // namespace
}  // namespace unisono
