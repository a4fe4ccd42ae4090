#include "orchestra/wire/frames.hpp"

#include <gtest/gtest.h>

#include "orchestra/wire/test_support.hpp"

namespace unisono::orchestra::wire {
namespace {

TEST(Frames, a_length_of_four_bytes_precedes_the_message) {
    EXPECT_EQ(frame("abc"), std::string("\0\0\0\3abc", 7));
    EXPECT_EQ(frame(std::string(0x10203, 'x')).substr(0, 4), std::string("\0\1\2\3", 4));
}

TEST(Frames, messages_come_out_whole_however_the_stream_is_cut) {
    auto const stream = frame("one") + frame("") + frame(std::string(1000, 'x'));
    for (std::size_t step = 1; step <= stream.size(); ++step) {
        FrameReader reader(1000);
        std::vector<std::string> messages;
        for (std::size_t at = 0; at < stream.size(); at += step) {
            reader.add(std::string_view(stream).substr(at, step));
            while (auto body = reader.next()) messages.push_back(*body);
        }
        ASSERT_EQ(messages, (std::vector<std::string>{"one", "", std::string(1000, 'x')})) << step;
        EXPECT_EQ(reader.pending_bytes(), 0U);
    }
}

TEST(Frames, a_length_above_the_limit_ends_it_before_anything_is_kept) {
    FrameReader reader(1000);
    reader.add(frame(std::string(1001, 'x')).substr(0, 4));
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.broken());
    reader.add(std::string(100'000, 'x'));
    EXPECT_EQ(reader.pending_bytes(), 0U);
    EXPECT_FALSE(reader.next());
}

TEST(Addresses, are_paths_or_hosts_with_ports) {
    EXPECT_EQ(parse_address("unix:/run/gate").path, "/run/gate");
    auto const tcp = parse_address("tcp:node7.site:4711");
    EXPECT_EQ(tcp.host, "node7.site");
    EXPECT_EQ(tcp.port, "4711");
    EXPECT_EQ(parse_address("tcp:[::1]:0").host, "::1");
    for (char const* text : {"unix:/run/gate", "tcp:node7.site:4711", "tcp:[::1]:0"})
        EXPECT_EQ(show(parse_address(text)), text);
}

TEST(Addresses, that_are_none_are_refused_and_nothing_means_everywhere) {
    for (std::string const& text :
         {std::string(""), std::string("/run/gate"), std::string("unix:gate"),
          "unix:/" + std::string(200, 'x'), std::string("unix:/a\0b", 9), std::string("tcp:4711"),
          std::string("tcp::4711"), std::string("tcp:[]:4711"), std::string("tcp:::1:4711"),
          std::string("tcp:host:"), std::string("tcp:host:ssh"), std::string("tcp:host:65536"),
          std::string("tcp:host:-1"), std::string("udp:host:1")})
        EXPECT_NE(problem_of([&] { parse_address(text); }), "") << text;
}

}  // namespace
}  // namespace unisono::orchestra::wire
