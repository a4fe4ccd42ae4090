#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "coordinate/wire/cipher.hpp"
#include "coordinate/wire/prover.hpp"

namespace unisono::coordinate::wire {

/// No message of a handshake is longer.
inline constexpr std::size_t handshake_bytes_max = 4096;

/// For one side's two directions.
struct SessionKeys {
    Key send;
    Key receive;
};

/// What two sides say before they trust each other; each proves first that it may be trusted.
///
///   client  magic, kind of proof, its public key of the moment
///   server  its own public key, proof of ("server", all of the above)
///   client  proof of ("client", all of the above)
///
/// The keys of the connection come from the two public keys (X25519), all that was said, and the
/// secret, if there is one. Public keys are new each time, so what was recorded proves nothing
/// later; the roles are part of the proofs, so nobody's own words can be sent back; who sits
/// between the two does not get the keys. The form is that of signed Diffie-Hellman (ISO 9798-3;
/// SIGMA), with credentials or authenticators in place of signatures.
///
/// No sockets, no clock. What breaks the rules throws Refused.
class Handshake {
public:
    enum class Role : std::uint8_t { client, server };

    Handshake(Role role, std::shared_ptr<Prover const> prover);

    /// The client's first message. To be called once.
    [[nodiscard]] std::string begin();
    /// Takes the next message of the other side; the answer to send, empty if there is none. May
    /// block if the prover may.
    [[nodiscard]] std::string take(std::string_view message);
    [[nodiscard]] bool is_complete() const { return keys_.has_value(); }

    /// When it is complete.
    [[nodiscard]] SessionKeys const& keys() const { return *keys_; }
    [[nodiscard]] uid_t uid() const { return uid_; }

private:
    [[nodiscard]] std::string answer_hello(std::string_view message);
    [[nodiscard]] std::string answer_server(std::string_view message);
    void agree(std::string_view other_public);
    [[nodiscard]] std::string statement(Role role) const;

    Role role_;
    std::shared_ptr<Prover const> prover_;
    int taken_ = 0;
    Key private_key_;
    std::string public_key_;
    std::string transcript_;
    SessionKeys pending_;
    std::optional<SessionKeys> keys_;
    uid_t uid_ = 0;
};

}  // namespace unisono::coordinate::wire
