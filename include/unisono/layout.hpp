#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unisono/realm.hpp"

namespace unisono {

/// How one range of a file lies on servers. Units go to `width` objects in turn until these are
/// full, then to the next `width` objects; object n, counted from the beginning of the file, is on
/// servers[n % servers.size()].
///
///     unit 1, width 2, object_bytes 3, servers 0 1 2 3:
///     file bytes   0  1  2  3  4  5 | 6  7  8  9 10 11 | 12 ...
///     server       0  1  0  1  0  1   2  3  2  3  2  3    0
///
/// Plain round-robin is width 1 and object_bytes == unit.
struct Striping {
    static constexpr std::uint64_t no_end = ~std::uint64_t{0};

    std::uint64_t end = no_end;      ///< file bytes up to here; it begins where the one before ends
    std::uint64_t unit = 0;          ///< bytes
    std::uint64_t object_bytes = 0;  ///< a multiple of `unit`
    std::uint32_t width = 1;         ///< divides servers.size()
    std::vector<std::uint32_t> servers;  ///< a server may occur more than once; empty: not known

    /// Units in turn over these servers.
    static Striping round_robin(std::uint64_t unit, std::vector<std::uint32_t> servers,
                                std::uint64_t end = no_end);

    friend bool operator==(Striping const&, Striping const&) = default;
};

/// Which server has a byte of a file, and where in that server's own order. A value, immutable and
/// cheap to copy. Servers are numbered from 0 within the file.
///
/// An unknown layout has a reason, and may still know its units (then cuts can be aligned).
class Layout {
public:
    Layout() : reason("nobody has looked") {}

    /// Stripings one after another, ascending; the last one has no end. What cannot be (a zero, an
    /// overflow, sizes beyond reason) makes the layout unknown and says why. If one has no servers
    /// the layout is unknown but for its units. Cost: O(table entries + stripings * servers).
    static Layout of(std::string source, std::vector<Striping> stripings, std::string reason = {});

    static Layout unknown(std::string source, std::string reason);

    std::string source;  ///< which provider said so, e.g. "lustre"
    std::string reason;  ///< why it is unknown, or a remark

    [[nodiscard]] bool known() const { return servers() != 0; }

    /// How many servers there are, 0 when unknown. A few of them may hold nothing.
    [[nodiscard]] std::uint32_t servers() const;

    /// The server of a byte, below servers(). Only when known. Cost: O(log stripings).
    [[nodiscard]] std::uint32_t server_of(std::uint64_t offset) const;

    /// How many bytes before `offset` the same server has: for round-robin striping the offset in
    /// its object; else the place in the server's bytes in file order, whichever objects they are
    /// in. Only when known. Cost: O(stripings * log table entries).
    [[nodiscard]] std::uint64_t object_offset(std::uint64_t offset) const;

    /// Bytes of the stripe unit that `offset` is in; units begin at multiples of it. 0: not known.
    [[nodiscard]] std::uint64_t unit_at(std::uint64_t offset) const;

    /// Where that stripe unit ends, or is cut off by the next striping. Only when units are known.
    [[nodiscard]] std::uint64_t unit_end(std::uint64_t offset) const;

    /// Of `range`, the bytes on one server, ascending. Only when known; range.end <= 2^62.
    /// Cost: O(1) for round-robin; O(stripings + table entries of the server) at most.
    [[nodiscard]] Realm bytes_of(std::uint32_t server, Extent range) const;

    /// For reports, e.g. "64 KiB over 4 servers (hints)".
    [[nodiscard]] std::string describe() const;

    [[nodiscard]] std::span<Striping const> stripings() const;

    friend bool operator==(Layout const& a, Layout const& b);

private:
    struct Map;

    std::shared_ptr<Map const> map_;
};

/// For sending one rank's layout to all others, so that all agree; same build on both sides.
std::vector<std::byte> to_bytes(Layout const& layout);
/// Nothing if the bytes are not those of to_bytes().
std::optional<Layout> layout_from_bytes(std::span<std::byte const> bytes);

}  // namespace unisono
