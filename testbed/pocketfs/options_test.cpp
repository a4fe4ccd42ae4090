#include "pocketfs/options.hpp"

#include <getopt.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace unisono::testbed {
namespace {

MountOptions parse(std::vector<std::string> words) {
    words.insert(words.begin(), "unisono-pocketfs");
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    optind = 0;
    return parse_options(static_cast<int>(words.size()), pointers.data());
}

std::string mistake(std::vector<std::string> const& words) {
    try {
        parse(words);
    } catch (std::runtime_error const& error) {
        return error.what();
    }
    return "none";
}

TEST(Options, sizes_names_and_defaults_are_read) {
    auto const options =
        parse({"/mnt/a", "--backing", "/tmp/b", "--servers", "6", "--stripe-bytes", "128K",
               "--scheduler", "cfq", "--context", "file", "--jitter-us", "50", "--seed", "7"});
    EXPECT_EQ(options.mountpoint, "/mnt/a");
    EXPECT_EQ(options.servers, 6U);
    EXPECT_EQ(options.stripe_servers, 6U) << "all, unless said";
    EXPECT_EQ(options.stripe_bytes, 131072U);
    EXPECT_EQ(options.server.scheduler, "cfq");
    EXPECT_EQ(options.server.context, ContextKind::file);
    EXPECT_EQ(options.server.jitter, 50 * microsecond);
    EXPECT_EQ(options.server.seed, 7U);
}

TEST(Options, mistakes_are_named) {
    EXPECT_EQ(mistake({"/mnt/a"}), "--backing is missing");
    EXPECT_EQ(mistake({"/mnt/a", "--backing", "b", "--servers", "0"}),
              "--servers '0': valid is 1 to 1024");
    EXPECT_EQ(mistake({"/mnt/a", "--backing", "b", "--stripe-bytes", "64X"}),
              "--stripe-bytes '64X': valid is a number, or one with K, M, G or T");
    EXPECT_EQ(mistake({"/mnt/a", "--backing", "b", "--stripe-bytes", "-1"}),
              "--stripe-bytes '-1': valid is a number, or one with K, M, G or T");
    EXPECT_EQ(mistake({"/mnt/a", "--backing", "b", "--stripe-servers", "5"}),
              "--stripe-servers '5': valid is at most --servers");
    EXPECT_EQ(mistake({"/mnt/a", "--backing", "b", "--context", "thread"}),
              "--context 'thread': valid is request, process, file or client");
    EXPECT_EQ(mistake({}), usage);
}

}  // namespace
}  // namespace unisono::testbed
