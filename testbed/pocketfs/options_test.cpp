#include "pocketfs/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace unisono::testbed {
namespace {

MountOptions parse(std::vector<std::string> words) {
    words.insert(words.begin(), "unisono-pocketfs");
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
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

using Words = std::vector<std::string>;

bool is_one_of(std::string const& said, Words const& words) {
    return std::ranges::find(words, said) != words.end();
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
    EXPECT_EQ(mistake({"/mnt/a"}), "--backing is required");
    EXPECT_EQ(mistake({}), "mountpoint is required");
    auto const mistake_in = [](std::string const& option, std::string const& value) {
        return mistake({"/mnt/a", "--backing", "b", option, value});
    };
    EXPECT_EQ(mistake_in("--servers", "0"), "--servers '0': valid is 1 to 1024");
    EXPECT_EQ(mistake_in("--servers", "1025"), "--servers '1025': valid is 1 to 1024");
    EXPECT_EQ(mistake_in("--stripe-bytes", "0"), "--stripe-bytes '0': valid is 1 to 1024T");
    EXPECT_EQ(mistake_in("--stripe-bytes", "2P"),
              "--stripe-bytes '2251799813685248': valid is 1 to 1024T");
    EXPECT_EQ(mistake_in("--stripe-servers", "5"),
              "--stripe-servers '5': valid is at most --servers");
    EXPECT_EQ(mistake_in("--chunk-bytes", "5K"),
              "--chunk-bytes '5120': valid is a multiple of 4096");
    EXPECT_EQ(mistake_in("--stripe-bytes", "64X"),
              "--stripe-bytes: x unit not recognized. Allowed values: "
              "{b,e,eb,ei,eib,g,gb,gi,gib,k,kb,ki,kib,m,mb,mi,mib,p,pb,pi,pib,t,tb,ti,tib}");
    // CLI11's own words, of 2.1 and of 2.4.
    EXPECT_PRED2(is_one_of, mistake_in("--stripe-bytes", "-1"),
                 (Words{"--stripe-bytes: Value -1 not in range 0 to 1152921504606846976",
                        "--stripe-bytes: Value -1 could not be converted to UINT"}));
    EXPECT_PRED2(is_one_of, mistake_in("--jitter-us", "-1"),
                 (Words{"--jitter-us: Value -1 not in range 0 to 1000000000",
                        "--jitter-us: Value -1 not in range [0 - 1000000000]"}));
    for (auto const* size : {"", "20000000T", "1.5"})
        EXPECT_NE(mistake_in("--stripe-bytes", size).find("stripe-bytes"), std::string::npos)
            << size;
    EXPECT_EQ(mistake_in("--context", "thread"),
              "--context: thread not in {client,file,process,request}");
    EXPECT_NE(mistake_in("--quantum", "1").find("--quantum"), std::string::npos);
}

}  // namespace
}  // namespace unisono::testbed
