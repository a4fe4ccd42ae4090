#include "orchestra/wire/key_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "orchestra/wire/test_support.hpp"

namespace unisono::orchestra::wire {
namespace {

TEST(KeyFiles, are_64_hexadecimal_digits) {
    OwnFolder const folder;
    std::ofstream(folder.key()) << "00ff10" + std::string(58, 'A') << '\n';
    auto const key = read_key(folder / "key-a");
    EXPECT_EQ(key.data()[0], 0x00);
    EXPECT_EQ(key.data()[1], 0xff);
    EXPECT_EQ(key.data()[2], 0x10);
    EXPECT_EQ(key.data()[31], 0xaa);
}

TEST(KeyFiles, that_others_could_have_read_or_written_are_refused) {
    OwnFolder const folder;
    auto const path = folder.key();
    EXPECT_EQ(problem_of([&] { read_key(path); }), "");
    for (unsigned const mode : {0640U, 0604U, 0620U, 0602U, 0610U, 0644U}) {
        std::filesystem::permissions(path, std::filesystem::perms(mode));
        EXPECT_NE(problem_of([&] { read_key(path); }).find("others may use it"), std::string::npos)
            << mode;
    }
    std::filesystem::permissions(path, std::filesystem::perms(0400));
    EXPECT_EQ(problem_of([&] { read_key(path); }), "");
}

TEST(KeyFiles, of_other_users_are_refused) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    OwnFolder const folder;
    auto const path = folder.key();
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    EXPECT_NE(problem_of([&] { read_key(path); }).find("belongs to user 65534"), std::string::npos);
}

TEST(KeyFiles, that_are_no_files_or_no_keys_are_refused) {
    OwnFolder const folder;
    auto const problem = [](std::string const& path) {
        return problem_of([&] { read_key(path); });
    };
    auto const with = [&](std::string const& text) {
        auto const path = folder.key('c');
        std::ofstream(path) << text;
        return problem(path);
    };
    std::string const digits(64, 'e');
    EXPECT_EQ(with(digits), "");
    EXPECT_EQ(with(digits + "\n"), "");
    for (auto const& text : {std::string(), digits.substr(1), digits + "e", digits + "\n\n",
                             digits.substr(1) + "g", std::string(64, ' '), std::string(9999, 'a')})
        EXPECT_NE(with(text).find("is no key"), std::string::npos) << text;
    std::filesystem::create_symlink(folder.key(), folder / "link");
    EXPECT_NE(problem(folder / "link").find("is a link"), std::string::npos);
    EXPECT_NE(problem(folder / "missing").find("No such file"), std::string::npos);
    EXPECT_NE(problem(folder / "."), "");
    EXPECT_NE(problem("").find("TCP needs a key file"), std::string::npos);
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_NE(problem(folder / "pipe").find("no regular file"), std::string::npos)
        << "and not waited for";
}

}  // namespace
}  // namespace unisono::orchestra::wire
