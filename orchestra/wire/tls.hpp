#pragma once

#include <gnutls/gnutls.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "orchestra/wire/key_file.hpp"

namespace unisono::orchestra::wire {

/// One side of TLS 1.3 (RFC 8446) on a nonblocking socket, by GnuTLS, with a key that both sides
/// know and new ones for each connection (psk_dhe_ke). There are no certificates, no resumption, no
/// early data.
///
/// A client's first message proves that it knows the key. A server says nothing before it has seen
/// that, but why it refuses: one alert of seven bytes, the same for everybody.
class Tls {
public:
    enum class Side : std::uint8_t { client, server };

    /// `key` has to live until the handshake is over, `socket` as long as this. Throws
    /// std::runtime_error.
    Tls(Side side, Key const& key, int socket);

    /// Goes on as far as it can with what has arrived; never blocks. True: both have proved that
    /// they know the key. False: to be called again when more has arrived. Throws
    /// std::runtime_error, for people, when the other side does not know the key or does not keep
    /// to the rules; it has been told then.
    bool shake_hands();
    /// For a server: what the client has said so far proves that it, or whoever it repeats, knows
    /// the key.
    [[nodiscard]] bool has_proof() const;

    /// After the handshake. How many of the bytes were taken, or read; 0: none now. Nothing: the
    /// connection is over, because the other side has gone, or something is not what it sent, in
    /// its place.
    std::optional<std::size_t> send(std::string_view bytes);
    std::optional<std::size_t> receive(std::span<char> room);

private:
    void show_key(Key const& key);
    void check_key(Key const& key);

    template <class Handle>
    using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, void (*)(Handle)>;

    Owned<gnutls_psk_client_credentials_t> client_{nullptr, gnutls_psk_free_client_credentials};
    Owned<gnutls_psk_server_credentials_t> server_{nullptr, gnutls_psk_free_server_credentials};
    Owned<gnutls_session_t> session_{nullptr, gnutls_deinit};
    bool interrupted_ = false;  // GnuTLS keeps what it could not send
};

}  // namespace unisono::orchestra::wire
