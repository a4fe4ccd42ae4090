#include "coordinate/wire/handshake.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "coordinate/wire/key_file.hpp"
#include "coordinate/wire/test_support.hpp"

namespace unisono::coordinate::wire {
namespace {

using Role = Handshake::Role;

class Handshakes : public testing::Test {
protected:
    OwnFolder folder_;
    std::shared_ptr<Prover const> ours_ = make_key_prover(folder_.key('a'));
    std::shared_ptr<Prover const> others_ = make_key_prover(folder_.key('b'));
    Handshake client_{Role::client, ours_};
    Handshake server_{Role::server, ours_};
};

template <class Action>
bool is_refused(Action action) {
    try {
        action();
    } catch (Refused const&) {
        return true;
    }
    return false;
}

TEST_F(Handshakes, two_who_know_the_key_agree_on_new_keys) {
    auto const proof = client_.take(server_.take(client_.begin()));
    ASSERT_TRUE(client_.is_complete());
    EXPECT_FALSE(server_.is_complete());
    EXPECT_EQ(server_.take(proof), "");
    ASSERT_TRUE(server_.is_complete());
    EXPECT_EQ(Opener(server_.keys().receive).open(Sealer(client_.keys().send).seal("there")),
              "there");
    EXPECT_EQ(Opener(client_.keys().receive).open(Sealer(server_.keys().send).seal("back")),
              "back");
    EXPECT_EQ(server_.uid(), geteuid());
}

TEST_F(Handshakes, a_client_with_another_key_is_refused) {
    Handshake stranger(Role::client, others_);
    auto const hello = server_.take(stranger.begin());
    EXPECT_TRUE(is_refused([&] { auto const proof = stranger.take(hello); }))
        << "it does not trust the server either";
    Handshake server(Role::server, ours_);
    auto const answer = server.take(client_.begin());
    EXPECT_TRUE(is_refused([&] { auto const end = server.take(others_->prove(answer)); }));
    EXPECT_FALSE(server.is_complete());
}

TEST_F(Handshakes, a_server_with_another_key_is_refused) {
    Handshake stranger(Role::server, others_);
    auto const answer = stranger.take(client_.begin());
    EXPECT_TRUE(is_refused([&] { auto const proof = client_.take(answer); }));
    EXPECT_FALSE(client_.is_complete());
}

TEST_F(Handshakes, what_was_recorded_lets_nobody_in) {
    auto const hello = client_.begin();
    auto const answer = server_.take(hello);
    auto const proof = client_.take(answer);
    Handshake later(Role::server, ours_);
    static_cast<void>(later.take(hello));
    EXPECT_TRUE(is_refused([&] { auto const end = later.take(proof); }));
    Handshake client(Role::client, ours_);
    static_cast<void>(client.begin());
    EXPECT_TRUE(is_refused([&] { auto const end = client.take(answer); }));
}

TEST_F(Handshakes, ones_own_words_prove_nothing_when_they_are_sent_back) {
    auto const hello = client_.begin();
    auto const answer = server_.take(hello);
    auto const proof_of_server = answer.substr(crypto_box_PUBLICKEYBYTES);
    EXPECT_TRUE(is_refused([&] { auto const end = server_.take(proof_of_server); }));
    EXPECT_TRUE(is_refused([&] { auto const end = client_.take(hello); }));
    // Through a second connection to the same server: it proves only what a server says.
    Handshake other(Role::server, ours_);
    Handshake victim(Role::server, ours_);
    auto const challenge = victim.take(hello);
    auto const borrowed =
        other.take(hello.substr(0, 9) + challenge.substr(0, crypto_box_PUBLICKEYBYTES));
    EXPECT_TRUE(is_refused(
        [&] { auto const end = victim.take(borrowed.substr(crypto_box_PUBLICKEYBYTES)); }));
}

TEST_F(Handshakes, who_sits_between_cannot_put_in_a_key_of_its_own) {
    std::string own(crypto_box_PUBLICKEYBYTES, '\0');
    Key secret;
    crypto_box_keypair(reinterpret_cast<unsigned char*>(own.data()), secret.data());
    auto const hello = client_.begin();
    auto answer = server_.take(hello.substr(0, 9) + own);
    EXPECT_TRUE(is_refused([&] { auto const proof = client_.take(answer); }));
}

TEST_F(Handshakes, public_keys_of_small_order_are_refused) {
    std::string const none(crypto_box_PUBLICKEYBYTES, '\0');
    EXPECT_TRUE(
        is_refused([&] { auto const end = server_.take(client_.begin().substr(0, 9) + none); }));
}

TEST_F(Handshakes, that_differ_in_a_bit_or_a_byte_are_refused) {
    auto const hello = client_.begin();
    for (std::size_t at = 0; at < hello.size(); ++at) {
        auto changed = hello;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        Handshake server(Role::server, ours_);
        Handshake client(Role::client, ours_);
        EXPECT_TRUE(is_refused([&] {
            auto const answer = server.take(changed);
            // What only changes the public key is found by the client.
            auto const proof = client_.take(answer);
        })) << at;
    }
    Handshake server(Role::server, ours_);
    EXPECT_TRUE(is_refused([&] { auto const end = server.take(hello + "x"); }));
    Handshake shorter(Role::server, ours_);
    EXPECT_TRUE(is_refused([&] { auto const end = shorter.take(hello.substr(1)); }));
}

// ---- sealed messages
// -----------------------------------------------------------------------------

class Seals : public Handshakes {
protected:
    void SetUp() override {
        static_cast<void>(server_.take(client_.take(server_.take(client_.begin()))));
        Sealer sealer(client_.keys().send);
        for (char const* message : {"one", "two", ""}) sealed_.push_back(sealer.seal(message));
    }

    std::vector<std::string> sealed_;
};

TEST_F(Seals, open_in_the_order_in_which_they_were_made) {
    Opener opener(server_.keys().receive);
    for (char const* message : {"one", "two", ""})
        EXPECT_EQ(opener.open(sealed_[message[0] == 'o' ? 0 : message[0] == 't' ? 1 : 2]), message);
    EXPECT_EQ(sealed_[1].size(),
              3 + seal_bytes - crypto_secretstream_xchacha20poly1305_HEADERBYTES);
}

TEST_F(Seals, do_not_open_when_changed_repeated_left_out_or_sent_back) {
    for (std::size_t at = 0; at < sealed_[0].size(); ++at) {
        auto changed = sealed_[0];
        changed[at] = static_cast<char>(changed[at] ^ 0x40);
        EXPECT_FALSE(Opener(server_.keys().receive).open(changed)) << at;
    }
    Opener twice(server_.keys().receive);
    EXPECT_TRUE(twice.open(sealed_[0]));
    EXPECT_FALSE(twice.open(sealed_[0]));
    Opener without(server_.keys().receive);
    EXPECT_TRUE(without.open(sealed_[0]));
    EXPECT_FALSE(without.open(sealed_[2]));
    EXPECT_FALSE(Opener(client_.keys().receive).open(sealed_[0])) << "its own words";
    for (std::size_t length = 0; length < sealed_[0].size(); ++length)
        EXPECT_FALSE(Opener(server_.keys().receive).open(sealed_[0].substr(0, length)));
}

// ---- key files
// -----------------------------------------------------------------------------------

TEST(KeyFiles, that_others_could_have_read_or_written_are_refused) {
    OwnFolder const folder;
    auto const path = folder.key();
    EXPECT_EQ(problem_of([&] { make_key_prover(path); }), "");
    for (unsigned const mode : {0640U, 0604U, 0620U, 0602U, 0610U, 0644U}) {
        std::filesystem::permissions(path, std::filesystem::perms(mode));
        EXPECT_NE(problem_of([&] { make_key_prover(path); }).find("others may use it"),
                  std::string::npos)
            << mode;
    }
    std::filesystem::permissions(path, std::filesystem::perms(0400));
    EXPECT_EQ(problem_of([&] { make_key_prover(path); }), "");
}

TEST(KeyFiles, of_other_users_are_refused) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    OwnFolder const folder;
    auto const path = folder.key();
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    EXPECT_NE(problem_of([&] { make_key_prover(path); }).find("belongs to user 65534"),
              std::string::npos);
}

TEST(KeyFiles, that_are_no_files_or_no_keys_are_refused) {
    OwnFolder const folder;
    auto const problem = [](std::string const& path) {
        return problem_of([&] { make_key_prover(path); });
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
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_NE(problem(folder / "pipe").find("no regular file"), std::string::npos)
        << "and not waited for";
}

}  // namespace
}  // namespace unisono::coordinate::wire
