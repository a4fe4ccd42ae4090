#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace unisono {

/// Numbers at given places of bytes that nobody has checked.
class FieldReader {
public:
    explicit FieldReader(std::span<std::byte const> bytes, bool big_endian = false)
        : bytes_(bytes), big_endian_(big_endian) {}

    /// The unsigned number of `size` bytes (at most 8) at `offset`; 0, and no longer intact(),
    /// where there are not so many bytes.
    std::uint64_t number(std::uint64_t offset, std::size_t size) {
        if (offset > bytes_.size() || bytes_.size() - offset < size) {
            intact_ = false;
            return 0;
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < size; ++i) {
            auto const at = big_endian_ ? i : size - 1 - i;
            value = value << 8 | std::to_integer<std::uint64_t>(bytes_[offset + at]);
        }
        return value;
    }
    std::uint32_t number32(std::uint64_t offset) {
        return static_cast<std::uint32_t>(number(offset, 4));
    }

    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] bool intact() const { return intact_; }

private:
    std::span<std::byte const> bytes_;
    bool big_endian_;
    bool intact_ = true;
};

}  // namespace unisono
