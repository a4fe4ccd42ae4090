#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "access/copy.hpp"

namespace unisono {

/// One number, character or the like as memory has it, and as files have it in MPI's portable
/// representation "external32": big-endian, some of it shorter. Complex numbers are two.
/// Source: MPI 4.1, section 15.5.2 and its table of lengths.
struct Unit {
    enum class Kind : std::uint8_t {
        bytes,     ///< as they are
        number,    ///< the same bytes in the other order
        integer,   ///< where files have fewer bytes, the higher ones are left out
        natural,   ///< the same, without a sign
        extended,  ///< long double, on x86 that of x87; IEEE's binary128 in files
    };
    Kind kind = Kind::bytes;
    std::uint8_t native_bytes = 1;
    std::uint8_t external_bytes = 1;

    friend bool operator==(Unit const&, Unit const&) = default;
};

/// What data consist of, in data order: a list that repeats as long as there are data. Immutable
/// but for building it with append().
class Units {
public:
    struct Run {
        Unit unit;
        std::uint64_t count = 1;
    };

    /// Of what is not known to Unisono.
    Units() = default;
    explicit Units(std::span<Run const> runs) {
        for (auto const& run : runs) append(run);
    }

    [[nodiscard]] bool known() const { return !runs_.empty(); }
    [[nodiscard]] std::span<Run const> runs() const { return runs_; }
    void append(Run run);
    /// `native_bytes` of data that consist of `part`; false, and unusable, where the list becomes
    /// too long for a description (4096 runs).
    bool append(Units const& part, std::uint64_t native_bytes);

    /// How long whole units of so many bytes in memory are in the file, and the other way round:
    /// there what is not a whole unit does not count.
    [[nodiscard]] std::uint64_t external_bytes(std::uint64_t native_bytes) const;
    [[nodiscard]] std::uint64_t native_bytes(std::uint64_t external_bytes) const;

private:
    std::vector<Run> runs_;
};

/// Converts data to `packed`, where they lie side by side. The data are whole units, in pieces of
/// whole units. Cost: O(bytes + pieces), no memory.
void to_external32(Units const& units, Placed const& data, std::byte* packed);

/// The other way round, as far as there are whole units in `packed`.
void from_external32(Units const& units, std::span<std::byte const> packed, Placed const& data);

}  // namespace unisono
