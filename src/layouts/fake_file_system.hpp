#pragma once

#include <cerrno>
#include <cstring>
#include <map>
#include <span>
#include <string>

#include "layouts/providers.hpp"

namespace unisono {

/// For tests: a file on a file system made by hand.
struct FakeFile {
    std::uint32_t magic = 0;
    std::map<std::string, std::string> attributes;
    bool local = false;
    std::function<bool(unsigned long request, void* argument)> control = [](unsigned long, void*) {
        return false;
    };
    ObjectPlacement placement;

    [[nodiscard]] FileProbe probe() const {
        return {.magic = magic,
                .block_bytes = 4096,
                .local = local,
                .attribute = [this](char const* name) -> std::optional<Attribute> {
                    auto const found = attributes.find(name);
                    if (found == attributes.end()) return std::nullopt;
                    auto const bytes = std::as_bytes(std::span(found->second));
                    return Attribute(bytes.begin(), bytes.end());
                },
                .control = control,
                .ceph_library = [this](CephStriping const&) { return placement; },
                .set_attribute = [](char const*, std::string const&) { return EOPNOTSUPP; }};
    }
    [[nodiscard]] std::string find(Options const& options = {}) const {
        return find_layout(probe(), options).describe();
    }
};

/// For tests: bytes as a machine would have written them.
struct FakeBytes {
    bool big_endian = false;
    std::vector<std::byte> bytes;

    FakeBytes& put(std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i)
            bytes.push_back(static_cast<std::byte>(value >> 8 * (big_endian ? size - 1 - i : i)));
        return *this;
    }
    FakeBytes& skip(std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) bytes.push_back({});
        return *this;
    }
    FakeBytes& put(std::string_view text) {
        for (auto const character : text) bytes.push_back(static_cast<std::byte>(character));
        return *this;
    }
};

}  // namespace unisono
