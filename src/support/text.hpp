#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Text that people write and read, whatever it is about.

namespace unisono {

std::string_view trim(std::string_view text);

/// The parts of `text` between separators; an empty text has one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

/// A decimal number, nothing around it. Nothing if it is none or does not fit.
std::optional<std::uint32_t> parse_count(std::string_view text);

/// A size in bytes: a decimal number, then nothing, or K, M, G, T (powers of 1024) with an
/// optional "B" or "iB", in either case: "16777216", "16M", "16MiB". Nothing if malformed.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// true, enable, yes, on, 1 and their opposites, in either case.
std::optional<bool> parse_boolean(std::string_view text);

std::string in_lower_case(std::string_view text);

/// As printf has it in a program that has set no locale: one number, at most 95 characters.
std::string print(char const* format, double value);

/// "20,000".
std::string grouped(std::uint64_t count);

/// "1 node", "2 nodes", "20,000 nodes".
std::string counted(std::uint64_t count, std::string_view noun);

/// For a terminal, which obeys some characters: names of files, which may be somebody else's, have
/// any. Those that are not for lines and columns become "?".
std::string visible(std::string_view text);
/// The same in place, where there may be no memory; returns how long it is then, at most as before.
std::size_t make_visible(std::span<char> text);

/// "0, 2-5": of numbers that ascend.
std::string number_ranges(std::span<std::uint32_t const> numbers);

/// A time for people, of three digits or more: "1.25 s", "12.1 us", "3 min 20 s", "2 h 5 min".
std::string human_seconds(double seconds);

/// A number of bytes for people: exact, in the largest unit that divides it: "64 KiB".
std::string size_text(std::uint64_t bytes);

/// The same rounded: "0 B", "64 B", "1.50 MiB".
std::string human_bytes(double bytes);

}  // namespace unisono
