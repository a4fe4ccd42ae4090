#include "orchestra/wire/tls.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace unisono::orchestra::wire {

namespace {

// One of each, all that FIPS 140 allows too: nothing to agree on, nothing to be talked down to.
// GnuTLS wants signatures to be named, though nobody has any.
constexpr char const* only_psk =
    "NONE:+VERS-TLS1.3:+ECDHE-PSK:+AES-128-GCM:+AEAD:+GROUP-SECP256R1:+SIGN-ALL";
constexpr char const* identity = "unisono";  // of the key; in the open
constexpr std::size_t handshake_bytes_max = 4096;

void check(int result) {
    if (result < 0) throw std::runtime_error(std::string("GnuTLS: ") + gnutls_strerror(result));
}

gnutls_priority_t priorities() {
    static auto* const made = [] {
        gnutls_priority_t priority = nullptr;
        check(gnutls_priority_init(&priority, only_psk, nullptr));
        return priority;
    }();
    return made;
}

int give_key(gnutls_session_t session, char const*, gnutls_datum_t* key) {
    auto const& known = *static_cast<Key const*>(gnutls_session_get_ptr(session));
    key->data = static_cast<unsigned char*>(gnutls_malloc(Key::size()));
    if (key->data == nullptr) return -1;
    std::copy_n(known.data(), Key::size(), key->data);
    key->size = Key::size();
    return 0;
}

// GnuTLS knows the username when the client's proof is right.
bool proof_is_right(gnutls_session_t session) {
    return gnutls_psk_server_get_username(session) != nullptr;
}

// GnuTLS would answer a client that offers no key, and fail only when it has no certificate to
// show.
int say_nothing_to_strangers(gnutls_session_t session, unsigned, unsigned, unsigned incoming,
                             gnutls_datum_t const*) {
    return incoming == 0 && !proof_is_right(session) ? GNUTLS_E_INSUFFICIENT_CREDENTIALS : 0;
}

bool not_now(ssize_t result) { return result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED; }

std::string meaning_of(int error, gnutls_session_t session) {
    switch (error) {
        case GNUTLS_E_FATAL_ALERT_RECEIVED:
            return std::string("it has another key (it says: ") +
                   gnutls_alert_get_name(gnutls_alert_get(session)) + ")";
        case GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER:
            return "it has another key";
        case GNUTLS_E_INSUFFICIENT_CREDENTIALS:
            return "it shows no key";
        case GNUTLS_E_PREMATURE_TERMINATION:
        case GNUTLS_E_PULL_ERROR:
        case GNUTLS_E_PUSH_ERROR:
            return "it went away";
        default:
            return std::string("it does not speak Unisono's protocol: ") + gnutls_strerror(error);
    }
}

std::optional<std::size_t> amount(ssize_t result) {
    if (result > 0) return static_cast<std::size_t>(result);
    return not_now(result) ? std::optional<std::size_t>(0) : std::nullopt;
}

}  // namespace

Tls::Tls(Side side, Key const& key, int socket) {
    unsigned const which = side == Side::server ? GNUTLS_SERVER : GNUTLS_CLIENT;
    gnutls_session_t session = nullptr;
    check(gnutls_init(&session, which | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS));
    session_.reset(session);
    check(gnutls_priority_set(session, priorities()));
    gnutls_handshake_set_max_packet_length(session, handshake_bytes_max);
    gnutls_transport_set_int(session, socket);
    if (side == Side::server)
        check_key(key);
    else
        show_key(key);
}

void Tls::show_key(Key const& key) {
    gnutls_psk_client_credentials_t credentials = nullptr;
    check(gnutls_psk_allocate_client_credentials(&credentials));
    client_.reset(credentials);
    gnutls_datum_t const secret{const_cast<unsigned char*>(key.data()), Key::size()};
    check(gnutls_psk_set_client_credentials(credentials, identity, &secret, GNUTLS_PSK_KEY_RAW));
    check(gnutls_credentials_set(session_.get(), GNUTLS_CRD_PSK, credentials));
}

void Tls::check_key(Key const& key) {
    gnutls_psk_server_credentials_t credentials = nullptr;
    check(gnutls_psk_allocate_server_credentials(&credentials));
    server_.reset(credentials);
    gnutls_psk_set_server_credentials_function(credentials, give_key);
    gnutls_session_set_ptr(session_.get(), const_cast<Key*>(&key));
    check(gnutls_credentials_set(session_.get(), GNUTLS_CRD_PSK, credentials));
    gnutls_handshake_set_hook_function(session_.get(), GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_PRE,
                                       say_nothing_to_strangers);
}

bool Tls::shake_hands() {
    int const result = gnutls_handshake(session_.get());
    if (result == GNUTLS_E_SUCCESS) return true;
    if (not_now(result)) return false;
    gnutls_alert_send_appropriate(session_.get(), result);
    throw std::runtime_error(meaning_of(result, session_.get()));
}

bool Tls::has_proof() const { return proof_is_right(session_.get()); }

std::optional<std::size_t> Tls::send(std::string_view bytes) {
    auto const result = interrupted_
                            ? gnutls_record_send(session_.get(), nullptr, 0)
                            : gnutls_record_send(session_.get(), bytes.data(), bytes.size());
    interrupted_ = not_now(result);
    return amount(result);
}

std::optional<std::size_t> Tls::receive(std::span<char> room) {
    return amount(gnutls_record_recv(session_.get(), room.data(), room.size()));
}

}  // namespace unisono::orchestra::wire
