#include "coordinate/wire/cipher.hpp"

#include <utility>

namespace unisono::coordinate::wire {

namespace {

constexpr std::size_t header_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
constexpr std::size_t tag_bytes = crypto_secretstream_xchacha20poly1305_ABYTES;

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
unsigned char const* bytes_of(std::string_view text) {
    return reinterpret_cast<unsigned char const*>(text.data());
}

}  // namespace

Sealer::Sealer(Key const& key) : state_(), header_(header_bytes, '\0') {
    crypto_secretstream_xchacha20poly1305_init_push(&state_, bytes_of(header_), key.data());
}

std::string Sealer::seal(std::string_view message) {
    auto sealed = std::exchange(header_, {});
    auto const begin = sealed.size();
    sealed.resize(begin + message.size() + tag_bytes);
    crypto_secretstream_xchacha20poly1305_push(&state_, bytes_of(sealed) + begin, nullptr,
                                               bytes_of(message), message.size(), nullptr, 0, 0);
    return sealed;
}

std::optional<std::string> Opener::open(std::string_view sealed) {
    if (!begun_) {
        if (sealed.size() < header_bytes) return {};
        if (crypto_secretstream_xchacha20poly1305_init_pull(&state_, bytes_of(sealed),
                                                            key_.data()) != 0)
            return {};
        sealed.remove_prefix(header_bytes);
        begun_ = true;
    }
    if (sealed.size() < tag_bytes) return {};
    std::string message(sealed.size() - tag_bytes, '\0');
    if (crypto_secretstream_xchacha20poly1305_pull(&state_, bytes_of(message), nullptr, nullptr,
                                                   bytes_of(sealed), sealed.size(), nullptr,
                                                   0) != 0)
        return {};
    return message;
}

}  // namespace unisono::coordinate::wire
