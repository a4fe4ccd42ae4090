#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

namespace unisono::orchestra::wire {

/// 32 bytes that only those know who trust each other. Wiped when it goes.
class Key {
public:
    Key() = default;
    Key(Key const&) = default;
    Key& operator=(Key const&) = default;
    ~Key() { explicit_bzero(bytes_.data(), bytes_.size()); }

    [[nodiscard]] unsigned char* data() { return bytes_.data(); }
    [[nodiscard]] unsigned char const* data() const { return bytes_.data(); }
    [[nodiscard]] static constexpr std::size_t size() { return 32; }

private:
    std::array<unsigned char, 32> bytes_{};
};

/// A key is a file: 64 hexadecimal digits and a line's end, a regular file of this user or of root
/// that nobody else may read or write. `unisono orchestra key FILE` makes one.
///
/// Throws std::runtime_error when none is named, it is missing, is no key, or others could have
/// read it.
Key read_key(std::string const& path);

}  // namespace unisono::orchestra::wire
