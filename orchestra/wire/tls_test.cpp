#include "orchestra/wire/tls.hpp"

#include <gnutls/x509.h>
#include <gtest/gtest.h>

#include <ctime>

#include "orchestra/wire/test_support.hpp"

namespace unisono::orchestra::wire {
namespace {

using Side = Tls::Side;

Key key_of(unsigned char byte) {
    Key key;
    std::fill_n(key.data(), Key::size(), byte);
    return key;
}

class Handshakes : public testing::Test {
protected:
    // To be called when the other side has said something. What it refuses for, else empty.
    static std::string refusal_of(Tls& side) {
        return problem_of([&] { static_cast<void>(side.shake_hands()); });
    }

    [[nodiscard]] bool complete() {
        bool const first = client_.shake_hands();
        bool const then = server_.shake_hands();
        return !first && !then && client_.shake_hands() && server_.shake_hands();
    }

    std::array<Descriptor, 2> line_ = make_line();
    Key ours_ = key_of(1);
    Key others_ = key_of(2);
    Tls client_{Side::client, ours_, line_[0].get()};
    Tls server_{Side::server, ours_, line_[1].get()};
};

TEST_F(Handshakes, two_who_know_the_key_can_talk) {
    ASSERT_TRUE(complete());
    std::array<char, 100> room;
    for (auto const& [from, to] : {std::pair{&client_, &server_}, std::pair{&server_, &client_}}) {
        EXPECT_EQ(to->receive(room), 0U);
        EXPECT_EQ(from->send("hello"), 5U);
        ASSERT_EQ(to->receive(room), 5U);
        EXPECT_EQ(std::string(room.data(), 5), "hello");
    }
}

TEST_F(Handshakes, another_key_is_refused_on_both_sides) {
    Tls stranger(Side::client, others_, line_[0].get());
    EXPECT_FALSE(stranger.shake_hands());
    EXPECT_EQ(refusal_of(server_), "it has another key");
    EXPECT_EQ(refusal_of(stranger), "it has another key (it says: Illegal parameter)");
}

TEST_F(Handshakes, a_server_that_shows_a_certificate_instead_is_refused) {
    gnutls_x509_privkey_t secret = nullptr;
    gnutls_x509_crt_t certificate = nullptr;
    gnutls_certificate_credentials_t credentials = nullptr;
    gnutls_session_t stranger = nullptr;
    gnutls_x509_privkey_init(&secret);
    gnutls_x509_privkey_generate(secret, GNUTLS_PK_ECDSA, 256, 0);
    gnutls_x509_crt_init(&certificate);
    gnutls_x509_crt_set_serial(certificate, "\1", 1);
    gnutls_x509_crt_set_activation_time(certificate, 0);
    gnutls_x509_crt_set_expiration_time(certificate, std::time(nullptr) + 1000);
    gnutls_x509_crt_set_key(certificate, secret);
    ASSERT_EQ(gnutls_x509_crt_sign2(certificate, certificate, secret, GNUTLS_DIG_SHA256, 0), 0);
    gnutls_certificate_allocate_credentials(&credentials);
    ASSERT_EQ(gnutls_certificate_set_x509_key(credentials, &certificate, 1, secret), 0);
    gnutls_init(&stranger, GNUTLS_SERVER | GNUTLS_NONBLOCK);
    gnutls_set_default_priority(stranger);
    gnutls_credentials_set(stranger, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(stranger, line_[1].get());
    EXPECT_FALSE(client_.shake_hands());
    EXPECT_EQ(gnutls_handshake(stranger), GNUTLS_E_AGAIN);
    EXPECT_EQ(refusal_of(client_), "it shows no key");
    gnutls_deinit(stranger);
    gnutls_certificate_free_credentials(credentials);
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(secret);
}

TEST_F(Handshakes, ones_own_words_prove_nothing_when_they_are_sent_back) {
    EXPECT_FALSE(client_.shake_hands());
    auto const hello = take_all(line_[1]);
    put(line_[1], hello);
    EXPECT_NE(refusal_of(client_), "");
    take_all(line_[1]);
    put(line_[0], hello);
    EXPECT_FALSE(server_.shake_hands());
    put(line_[0], take_all(line_[0]));
    EXPECT_NE(refusal_of(server_), "");
}

// ---- what comes after it
// -------------------------------------------------------------------------

class Records : public Handshakes {
protected:
    void SetUp() override {
        ASSERT_TRUE(complete());
        for (char const* message : {"one", "two"}) {
            client_.send(message);
            records_.push_back(take_all(line_[1]));
        }
    }

    // What the server makes of these bytes.
    std::optional<std::string> read(std::string const& bytes) {
        put(line_[0], bytes);
        std::array<char, 100> room;
        auto const length = server_.receive(room);
        if (!length) return {};
        return std::string(room.data(), *length);
    }

    std::vector<std::string> records_;
};

TEST_F(Records, are_read_in_their_order_and_hide_what_they_say) {
    EXPECT_EQ(records_[0].find("one"), std::string::npos);
    EXPECT_EQ(read(records_[0]), "one");
    EXPECT_EQ(read(records_[1]), "two");
}

TEST_F(Records, that_were_repeated_end_the_connection) {
    EXPECT_EQ(read(records_[0]), "one");
    EXPECT_EQ(read(records_[0]), std::nullopt);
    EXPECT_EQ(read(records_[1]), std::nullopt);
}

TEST_F(Records, of_which_one_was_left_out_end_the_connection) {
    EXPECT_EQ(read(records_[1]), std::nullopt);
}

TEST_F(Records, that_were_sent_back_end_the_connection) {
    put(line_[1], records_[0]);
    std::array<char, 100> room;
    EXPECT_EQ(client_.receive(room), std::nullopt);
}

TEST_F(Records, that_were_cut_off_end_the_connection) {
    EXPECT_EQ(read(records_[0].substr(0, 10)), "") << "the rest may come";
    shutdown(line_[0].get(), SHUT_WR);
    std::array<char, 100> room;
    EXPECT_EQ(server_.receive(room), std::nullopt);
}

// ---- what strangers are told
// ---------------------------------------------------------------------

// What a client says first that has a key or none, and other wishes than ours.
std::string hello_with(char const* priorities, Key const* key, unsigned flags = 0) {
    auto const line = make_line();
    gnutls_session_t client = nullptr;
    gnutls_psk_client_credentials_t credentials = nullptr;
    gnutls_init(&client, GNUTLS_CLIENT | GNUTLS_NONBLOCK | flags);
    EXPECT_EQ(gnutls_priority_set_direct(client, priorities, nullptr), 0) << priorities;
    gnutls_psk_allocate_client_credentials(&credentials);
    if (key != nullptr) {
        gnutls_datum_t const secret{const_cast<unsigned char*>(key->data()), Key::size()};
        gnutls_psk_set_client_credentials(credentials, "unisono", &secret, GNUTLS_PSK_KEY_RAW);
        gnutls_credentials_set(client, GNUTLS_CRD_PSK, credentials);
    }
    gnutls_transport_set_int(client, line[0].get());
    gnutls_handshake(client);
    gnutls_deinit(client);
    gnutls_psk_free_client_credentials(credentials);
    return take_all(line[1]);
}

// What it says until it closes the connection.
std::string answer_to(Listener& listener, std::string const& bytes) {
    auto const socket = dial(listener);
    put(socket, bytes);
    std::string answer;
    EXPECT_TRUE(serve(listener, [&](std::unique_ptr<Connection> connection) {
        EXPECT_FALSE(connection);
        bool closed = false;
        answer += take_all(socket, closed);
        return closed;
    }));
    return answer;
}

bool is_alert(std::string const& bytes) {
    return bytes.size() == 7 && bytes.starts_with(std::string("\x15\3\3\0\2\2", 6));
}

TEST(Strangers, an_unauthenticated_peer_learns_nothing) {
    OwnFolder const folder;
    Listener listener(parse_address("tcp:127.0.0.1:0"), folder.key(), {.handshake = patience});
    auto const wrong = key_of(7);
    std::string const ours =
        "NONE:+VERS-TLS1.3:+ECDHE-PSK:+AES-128-GCM:+AEAD:+SIGN-ALL:+GROUP-SECP256R1";
    for (auto const& hello :
         {first_words(wrong), hello_with("NORMAL", nullptr),
          hello_with("NORMAL:+ECDHE-PSK", &wrong),
          // No key for the exchange in the group that is wanted: elsewhere a reason to ask again.
          hello_with("NORMAL:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1", nullptr,
                     GNUTLS_KEY_SHARE_TOP),
          hello_with((ours + ":-ECDHE-PSK:+PSK").c_str(), &wrong),
          hello_with("NORMAL:-VERS-ALL:+VERS-TLS1.2:+ECDHE-PSK:+DHE-PSK:+PSK", &wrong),
          hello_with("NORMAL:-VERS-ALL:+VERS-TLS1.2", nullptr),
          // What clients said before there was TLS here; the answer was a credential of MUNGE's.
          frame("unisono1m" + std::string(32, 'x')), std::string("GET / HTTP/1.1\r\n\r\n")})
        EXPECT_TRUE(is_alert(answer_to(listener, hello))) << testing::PrintToString(hello);
    Listener hasty(parse_address("tcp:127.0.0.1:0"), folder.key(),
                   {.handshake = std::chrono::milliseconds(100)});
    for (auto const& beginning : {std::string(), first_words(wrong).substr(0, 20)})
        EXPECT_EQ(answer_to(hasty, beginning), "");
}

// Also one that knows somebody's right words, but for a bit.
TEST(Strangers, hellos_that_differ_in_a_bit_are_not_answered) {
    auto const key = key_of(1);
    auto const hello = first_words(key);
    constexpr std::size_t record_head_bytes = 5;
    for (auto at = record_head_bytes; at < hello.size(); ++at) {
        auto changed = hello;
        changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
        auto const line = make_line();
        Tls server(Side::server, key, line[1].get());
        put(line[0], changed);
        static_cast<void>(problem_of([&] { EXPECT_FALSE(server.shake_hands()) << at; }));
        auto const answer = take_all(line[0]);
        EXPECT_TRUE(answer.empty() || is_alert(answer)) << at;
    }
}

// A key that is right gains nothing without new keys for this connection.
TEST(Strangers, who_could_be_read_later_are_refused) {
    auto const key = key_of(1);
    auto const line = make_line();
    Tls server(Side::server, key, line[1].get());
    put(line[0],
        hello_with("NONE:+VERS-TLS1.3:+PSK:+AES-128-GCM:+AEAD:+SIGN-ALL:+GROUP-SECP256R1", &key));
    EXPECT_NE(problem_of([&] { static_cast<void>(server.shake_hands()); }), "");
}

}  // namespace
}  // namespace unisono::orchestra::wire
