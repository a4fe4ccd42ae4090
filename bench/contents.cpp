#include "contents.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace bench {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

/// The finaliser of splitmix64: neighbouring words share no bytes by design.
std::uint64_t word_at(std::uint64_t word_index, Salt salt) {
    std::uint64_t mixed = word_index + static_cast<std::uint64_t>(salt) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/// Calls visit(index, word bytes) for the parts of [offset, offset + bytes) word by word, until it
/// returns false.
template <typename Visit>
void for_each_word(std::uint64_t offset, std::size_t bytes, Salt salt, Visit visit) {
    for (std::size_t done = 0; done < bytes;) {
        std::uint64_t const at = offset + done;
        std::size_t const skipped = at % word_bytes;
        std::size_t const length = std::min<std::size_t>(word_bytes - skipped, bytes - done);
        auto const word =
            std::bit_cast<std::array<std::byte, word_bytes>>(word_at(at / word_bytes, salt));
        if (!visit(done, std::span{word}.subspan(skipped, length))) return;
        done += length;
    }
}

}  // namespace

void fill_contents(std::span<std::byte> out, std::uint64_t offset, Salt salt) {
    for_each_word(offset, out.size(), salt, [&](std::size_t at, std::span<std::byte const> word) {
        std::memcpy(out.data() + at, word.data(), word.size());
        return true;
    });
}

std::optional<std::size_t> first_difference(std::span<std::byte const> found, std::uint64_t offset,
                                            Salt salt) {
    std::optional<std::size_t> difference;
    for_each_word(offset, found.size(), salt, [&](std::size_t at, std::span<std::byte const> word) {
        auto const part = found.subspan(at, word.size());
        if (std::memcmp(part.data(), word.data(), word.size()) == 0) return true;
        difference =
            at + (std::mismatch(part.begin(), part.end(), word.begin()).first - part.begin());
        return false;
    });
    return difference;
}

}  // namespace bench
