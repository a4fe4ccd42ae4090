#include "orchestra/wire/key_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "support/descriptor.hpp"

namespace unisono::orchestra::wire {

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

// False: it is none.
bool decode(std::string_view text, Key& key) {
    if (text.size() != digits) return false;
    for (std::size_t i = 0; i < Key::size(); ++i) {
        auto const* const pair = text.data() + 2 * i;
        if (std::from_chars(pair, pair + 2, key.data()[i], 16).ptr != pair + 2) return false;
    }
    return true;
}

}  // namespace

Key read_key(std::string const& path) {
    if (path.empty())
        throw std::runtime_error("TCP needs a key file; `unisono orchestra key FILE` makes one");
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
    bool const is_key = length > 0 && decode({text.data(), static_cast<std::size_t>(length)}, key);
    explicit_bzero(text.data(), text.size());
    if (!is_key) refuse(path, "is no key; `unisono orchestra key FILE` makes one");
    return key;
}

}  // namespace unisono::orchestra::wire
