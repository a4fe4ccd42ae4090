#include "support/byte_stream.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace unisono {
namespace {

struct Part {
    std::string name;
    std::map<std::string, std::vector<std::uint32_t>> numbers;
    friend bool operator==(Part const&, Part const&) = default;
};

template <MaybeConst<Part> Any, class Visitor>
void visit_members(Any& part, Visitor& visit) {
    visit(part.name, part.numbers);
}

std::vector<Part> const parts{{"a", {{"one", {1, 2}}, {"none", {}}}}, {"", {}}};

TEST(ByteStream, gives_back_what_went_in) {
    EXPECT_EQ(value_from_bytes<std::vector<Part>>(bytes_of(parts)), parts);
}

TEST(ByteStream, refuses_bytes_that_are_cut_or_too_many) {
    auto bytes = bytes_of(parts);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(value_from_bytes<std::vector<Part>>(std::span(bytes).first(size))) << size;
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(value_from_bytes<std::vector<Part>>(bytes));
}

// A count that nobody has written must not be believed: memory for it may not be there.
TEST(ByteStream, stops_where_the_bytes_end_whatever_a_count_says) {
    auto const lie = bytes_of(std::uint64_t{1} << 60);
    EXPECT_FALSE(value_from_bytes<std::string>(lie));
}

}  // namespace
}  // namespace unisono
