#include "coordinate/wire/handshake.hpp"

#include <utility>

namespace unisono::coordinate::wire {

namespace {

constexpr std::string_view magic = "unisono1";
constexpr std::size_t public_bytes = crypto_box_PUBLICKEYBYTES;

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
unsigned char const* bytes_of(std::string_view text) {
    return reinterpret_cast<unsigned char const*>(text.data());
}

// BLAKE2b; texts of fixed lengths, so that no two lists of texts become one.
void add(crypto_generichash_state& state, std::string_view text) {
    crypto_generichash_update(&state, bytes_of(text), text.size());
}

}  // namespace

Handshake::Handshake(Role role, std::shared_ptr<Prover const> prover)
    : role_(role), prover_(std::move(prover)), public_key_(public_bytes, '\0') {
    crypto_box_keypair(bytes_of(public_key_), private_key_.data());
}

std::string Handshake::begin() {
    transcript_ = std::string(magic) + prover_->kind() + public_key_;
    return transcript_;
}

std::string Handshake::take(std::string_view message) {
    if (message.size() > handshake_bytes_max || is_complete()) throw Refused("it says too much");
    ++taken_;
    if (role_ == Role::client) return answer_server(message);
    if (taken_ == 1) return answer_hello(message);
    uid_ = prover_->check(message, statement(Role::client));
    keys_ = pending_;
    return {};
}

std::string Handshake::answer_hello(std::string_view message) {
    if (message.size() != magic.size() + 1 + public_bytes || !message.starts_with(magic))
        throw Refused("it does not speak Unisono's protocol");
    if (message[magic.size()] != prover_->kind())
        throw Refused("one side has a key file, the other MUNGE");
    transcript_ = std::string(message) + public_key_;
    agree(message.substr(magic.size() + 1));
    return public_key_ + prover_->prove(statement(Role::server));
}

std::string Handshake::answer_server(std::string_view message) {
    if (message.size() < public_bytes) throw Refused("it does not speak Unisono's protocol");
    auto const other = message.substr(0, public_bytes);
    transcript_ += other;
    agree(other);
    uid_ = prover_->check(message.substr(public_bytes), statement(Role::server));
    keys_ = pending_;
    return prover_->prove(statement(Role::client));
}

// What is proved: who says it, and all that was said before.
std::string Handshake::statement(Role role) const {
    crypto_generichash_state state;
    std::string hash(crypto_generichash_BYTES, '\0');
    crypto_generichash_init(&state, nullptr, 0, hash.size());
    add(state, role == Role::client ? "client" : "server");
    add(state, transcript_);
    crypto_generichash_final(&state, bytes_of(hash), hash.size());
    return hash;
}

void Handshake::agree(std::string_view other_public) {
    Key shared;
    if (crypto_scalarmult(shared.data(), private_key_.data(), bytes_of(other_public)) != 0)
        throw Refused("its public key is none");
    auto const secret = prover_->secret();
    auto const derive = [&](Role sender, Key& key) {
        crypto_generichash_state state;
        crypto_generichash_init(&state, bytes_of(secret), secret.size(), Key::size());
        add(state, {reinterpret_cast<char const*>(shared.data()), Key::size()});
        add(state, statement(sender));
        crypto_generichash_final(&state, key.data(), Key::size());
        sodium_memzero(&state, sizeof state);
    };
    bool const client = role_ == Role::client;
    derive(Role::client, client ? pending_.send : pending_.receive);
    derive(Role::server, client ? pending_.receive : pending_.send);
}

static_assert(Key::size() == crypto_scalarmult_BYTES);
static_assert(Key::size() == crypto_secretstream_xchacha20poly1305_KEYBYTES);

}  // namespace unisono::coordinate::wire
