#pragma once

#include <sodium.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace unisono::coordinate::wire {

/// 32 bytes that only the two sides know. Wiped when it goes.
class Key {
public:
    Key() = default;
    Key(Key const&) = default;
    Key& operator=(Key const&) = default;
    ~Key() { sodium_memzero(bytes_.data(), bytes_.size()); }

    [[nodiscard]] unsigned char* data() { return bytes_.data(); }
    [[nodiscard]] unsigned char const* data() const { return bytes_.data(); }
    [[nodiscard]] static constexpr std::size_t size() { return 32; }

private:
    std::array<unsigned char, 32> bytes_{};
};

/// So many bytes a sealed message is longer at most.
inline constexpr std::size_t seal_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES +
                                          crypto_secretstream_xchacha20poly1305_ABYTES;

/// Encrypts one direction of a connection, and makes each message authentic in its place: what is
/// changed, left out, repeated, or sent back does not open. libsodium's secretstream; its header
/// precedes the first message.
class Sealer {
public:
    explicit Sealer(Key const& key);
    std::string seal(std::string_view message);

private:
    crypto_secretstream_xchacha20poly1305_state state_;
    std::string header_;  // empty: it was sent
};

class Opener {
public:
    explicit Opener(Key const& key) : key_(key) {}
    /// Nothing: not from the other side's Sealer, or not the next one.
    std::optional<std::string> open(std::string_view sealed);

private:
    Key key_;
    bool begun_ = false;
    crypto_secretstream_xchacha20poly1305_state state_{};
};

}  // namespace unisono::coordinate::wire
