#include "coordinate/wire/key_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "coordinate/wire/cipher.hpp"
#include "coordinate/wire/descriptor.hpp"

namespace unisono::coordinate::wire {

namespace {

constexpr std::size_t digits = 2 * Key::size();

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
    throw std::runtime_error("key file " + path + ": " + why);
}

void check_rights(std::string const& path, struct stat const& facts) {
    if (!S_ISREG(facts.st_mode)) refuse(path, "is no regular file");
    if (facts.st_uid != geteuid() && facts.st_uid != 0)
        refuse(path, "belongs to user " + std::to_string(facts.st_uid));
    if ((facts.st_mode & 077) != 0) refuse(path, "others may use it; chmod 600 it");
}

Key read_key(std::string const& path) {
    Descriptor const file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) refuse(path, errno == ELOOP ? "is a link" : std::strerror(errno));
    struct stat facts {};
    if (fstat(file.get(), &facts) != 0) refuse(path, std::strerror(errno));
    check_rights(path, facts);
    // One more than there should be, to see that there is no more.
    std::array<char, digits + 2> text{};
    auto length = read(file.get(), text.data(), text.size());
    if (length > 0 && text[static_cast<std::size_t>(length) - 1] == '\n') --length;
    Key key;
    std::size_t bytes = 0;
    bool const read_all =
        length == static_cast<ssize_t>(digits) &&
        sodium_hex2bin(key.data(), Key::size(), text.data(), digits, nullptr, &bytes, nullptr) == 0;
    sodium_memzero(text.data(), text.size());
    if (!read_all || bytes != Key::size())
        refuse(path, "is no key; `unisono orchestra key FILE` makes one");
    return key;
}

class KeyProver final : public Prover {
public:
    explicit KeyProver(Key const& key) : key_(key) {}

    [[nodiscard]] char kind() const override { return 'k'; }
    [[nodiscard]] bool may_block() const override { return false; }
    [[nodiscard]] std::string_view secret() const override {
        return {reinterpret_cast<char const*>(key_.data()), Key::size()};
    }

    [[nodiscard]] std::string prove(std::string_view statement) const override {
        std::string proof(crypto_auth_BYTES, '\0');
        crypto_auth(reinterpret_cast<unsigned char*>(proof.data()),
                    reinterpret_cast<unsigned char const*>(statement.data()), statement.size(),
                    key_.data());
        return proof;
    }

    [[nodiscard]] uid_t check(std::string_view proof, std::string_view statement) const override {
        if (proof.size() != crypto_auth_BYTES ||
            crypto_auth_verify(reinterpret_cast<unsigned char const*>(proof.data()),
                               reinterpret_cast<unsigned char const*>(statement.data()),
                               statement.size(), key_.data()) != 0)
            throw Refused("it has another key");
        return geteuid();
    }

private:
    Key key_;
};

static_assert(Key::size() == crypto_auth_KEYBYTES);

}  // namespace

std::shared_ptr<Prover const> make_key_prover(std::string const& path) {
    if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
    return std::make_shared<KeyProver>(read_key(path));
}

}  // namespace unisono::coordinate::wire
