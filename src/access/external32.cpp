#include "access/external32.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

namespace unisono {
namespace {

static_assert(std::endian::native == std::endian::little);

#ifdef __x86_64__
__extension__ using Binary128 = __float128;
constexpr std::size_t long_double_bytes = 10;  // x87's; six more are nobody's
#else
using Binary128 = long double;
constexpr std::size_t long_double_bytes = sizeof(long double);
static_assert(std::numeric_limits<long double>::digits == 113);
#endif

void reverse(std::byte* to, std::byte const* from, std::size_t bytes) {
    std::reverse_copy(from, from + bytes, to);
}

// Lengths that the compiler knows: it has instructions for them.
template <std::size_t size>
void reverse_all(std::byte* to, std::byte const* from, std::uint64_t count) {
    for (; count > 0; --count, to += size, from += size) reverse(to, from, size);
}

void reverse_all(std::byte* to, std::byte const* from, std::size_t size, std::uint64_t count) {
    switch (size) {
        case 2:
            return reverse_all<2>(to, from, count);
        case 4:
            return reverse_all<4>(to, from, count);
        case 8:
            return reverse_all<8>(to, from, count);
        default:
            for (; count > 0; --count, to += size, from += size) reverse(to, from, size);
    }
}

template <class To, class From>
To converted(From const& from) {
    return static_cast<To>(from);
}

void extended_to_file(std::byte* to, std::byte const* from) {
    long double value = 0;
    std::memcpy(&value, from, sizeof value);
    auto const quadruple = converted<Binary128>(value);
    std::array<std::byte, sizeof quadruple> bytes;
    std::memcpy(bytes.data(), &quadruple, sizeof quadruple);
    reverse(to, bytes.data(), bytes.size());
}

void extended_from_file(std::byte* to, std::byte const* from) {
    std::array<std::byte, sizeof(Binary128)> bytes;
    reverse(bytes.data(), from, bytes.size());
    Binary128 quadruple = 0;
    std::memcpy(&quadruple, bytes.data(), sizeof quadruple);
    auto const value = converted<long double>(quadruple);
    std::memcpy(to, &value, long_double_bytes);
    std::memset(to + long_double_bytes, 0, sizeof value - long_double_bytes);
}

void to_file(Unit const& unit, std::byte* to, std::byte const* from) {
    if (unit.kind == Unit::Kind::extended) return extended_to_file(to, from);
    reverse(to, from, unit.external_bytes);  // the lowest bytes come first in memory
}

void from_file(Unit const& unit, std::byte* to, std::byte const* from) {
    if (unit.kind == Unit::Kind::extended) return extended_from_file(to, from);
    auto const negative =
        unit.kind == Unit::Kind::integer && (from[0] & std::byte{0x80}) != std::byte{};
    reverse(to, from, unit.external_bytes);
    std::fill(to + unit.external_bytes, to + unit.native_bytes,
              negative ? std::byte{0xff} : std::byte{0});
}

void convert_to(Unit const& unit, std::uint64_t count, std::byte* to, std::byte const* from) {
    if (unit.kind == Unit::Kind::bytes)
        return static_cast<void>(std::memcpy(to, from, count * unit.native_bytes));
    if (unit.kind == Unit::Kind::number) return reverse_all(to, from, unit.native_bytes, count);
    for (; count > 0; --count, to += unit.external_bytes, from += unit.native_bytes)
        to_file(unit, to, from);
}

void convert_from(Unit const& unit, std::uint64_t count, std::byte* to, std::byte const* from) {
    if (unit.kind == Unit::Kind::bytes)
        return static_cast<void>(std::memcpy(to, from, count * unit.native_bytes));
    if (unit.kind == Unit::Kind::number) return reverse_all(to, from, unit.native_bytes, count);
    for (; count > 0; --count, to += unit.native_bytes, from += unit.external_bytes)
        from_file(unit, to, from);
}

// Hands out units in data order.
class UnitCursor {
public:
    explicit UnitCursor(Units const& units) : runs_{units.runs()}, left_{runs_[0].count} {}

    // Equal ones that come next, of `native_bytes` in memory at most.
    Units::Run next(std::uint64_t native_bytes) {
        auto const& unit = runs_[at_].unit;
        assert(native_bytes >= unit.native_bytes);
        Units::Run const run{unit, std::min(left_, native_bytes / unit.native_bytes)};
        left_ -= run.count;
        if (left_ == 0) {
            at_ = (at_ + 1) % runs_.size();
            left_ = runs_[at_].count;
        }
        return run;
    }

private:
    std::span<Units::Run const> runs_;
    std::size_t at_ = 0;
    std::uint64_t left_;
};

// Calls use(unit, count, memory) for all units of the data, in data order.
template <class Use>
void walk_units(Units const& units, Placed const& data, Use&& use) {
    if (data.positions.empty()) return;  // nothing may consist of anything
    UnitCursor cursor{units};
    // One number whose bytes lie side by side is one piece, or part of one.
    walk(data.tiling, data.positions, [&](std::int64_t offset, std::uint64_t bytes) {
        auto* memory = data.at(offset);
        while (bytes > 0) {
            auto const [unit, count] = cursor.next(bytes);
            use(unit, count, memory);
            memory += count * unit.native_bytes;
            bytes -= count * unit.native_bytes;
        }
    });
}

// What `bytes` bytes on one side of a conversion are on the other.
std::uint64_t across(std::span<Units::Run const> runs, std::uint64_t bytes, auto this_side,
                     auto other_side) {
    if (runs.empty()) return bytes;
    std::uint64_t here = 0, there = 0;
    for (auto const& [unit, count] : runs) {
        here += count * (unit.*this_side);
        there += count * (unit.*other_side);
    }
    assert(here > 0);
    auto result = bytes / here * there;
    auto left = bytes % here;
    for (auto const& [unit, count] : runs) {
        auto const whole = std::min<std::uint64_t>(count, left / (unit.*this_side));
        result += whole * (unit.*other_side);
        left -= whole * (unit.*this_side);
        if (whole < count) break;
    }
    return result;
}

}  // namespace

void Units::append(Run run) {
    if (!runs_.empty() && runs_.back().unit == run.unit)
        runs_.back().count += run.count;
    else if (run.count > 0)
        runs_.push_back(run);
}

bool Units::append(Units const& part, std::uint64_t native_bytes) {
    constexpr std::size_t runs_max = 4096;
    auto left = native_bytes;
    while (left > 0 && part.known() && runs_.size() <= runs_max) {
        for (auto const& [unit, count] : part.runs_) {
            // A part of one kind has no period of its own.
            auto const all = part.runs_.size() == 1 ? left / unit.native_bytes : count;
            assert(all > 0);
            append({unit, std::min(all, left / unit.native_bytes)});
            left -= std::min(left, all * unit.native_bytes);
        }
    }
    if (left > 0) runs_.clear();
    return left == 0;
}

std::uint64_t Units::external_bytes(std::uint64_t native_bytes) const {
    return across(runs_, native_bytes, &Unit::native_bytes, &Unit::external_bytes);
}

std::uint64_t Units::native_bytes(std::uint64_t external_bytes) const {
    return across(runs_, external_bytes, &Unit::external_bytes, &Unit::native_bytes);
}

void to_external32(Units const& units, Placed const& data, std::byte* packed) {
    walk_units(units, data, [&](Unit const& unit, std::uint64_t count, std::byte const* memory) {
        convert_to(unit, count, packed, memory);
        packed += count * unit.external_bytes;
    });
}

void from_external32(Units const& units, std::span<std::byte const> packed, Placed const& data) {
    auto const bytes = units.native_bytes(packed.size());
    Positions const there{data.positions.begin, data.positions.begin + bytes};
    auto const* next = packed.data();
    walk_units(units, {data.tiling, there, data.base},
               [&](Unit const& unit, std::uint64_t count, std::byte* memory) {
                   convert_from(unit, count, memory, next);
                   next += count * unit.external_bytes;
               });
}

}  // namespace unisono
