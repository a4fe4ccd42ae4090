#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/options.hpp"

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

/// enable, disable, automatic (or auto), and what parse_boolean() takes.
std::optional<Switch> parse_switch(std::string_view text);

/// One specification of a hints file: these hints for the files that `glob` matches.
struct HintSpec {
    std::string glob;
    std::vector<KeyValue> hints;
};

/// A parsed text, and one line for each part of it that could not be understood.
template <class Value>
struct Parsed {
    Value value;
    std::vector<std::string> complaints;
};

struct HintFile {
    std::vector<HintSpec> specs;           ///< in the order of the text
    std::vector<std::string> leave_alone;  ///< globs after the word `leave_alone`
};

/// Reads a hints file: lines "glob:key=value:key=value", "leave_alone glob", comments after "#" at
/// the beginning of a line, empty lines. A part without "=" belongs to the value before it, so that
/// "*:cb_config_list=*:4" means what it seems to. `name` is for the complaints.
Parsed<HintFile> parse_hint_file(std::string_view text, std::string_view name);

/// Reads a list "spec,spec,..." in one line, as Cray's MPICH_MPIIO_HINTS has it. A part between
/// commas that does not begin with "glob:key=" belongs to the value before it.
Parsed<HintFile> parse_hint_list(std::string_view text, std::string_view name);

/// Reads ROMIO's hints file: lines "key value", comments after "#" in the first column.
std::vector<KeyValue> parse_romio_hints(std::string_view text);

/// Whether a shell pattern (*, ?, [...], \; "*" also matches "/") names this file. It is compared
/// with the name as the program gave it, without a file system prefix such as "ufs:", made
/// absolute, and, where the pattern has no "/", with the last part alone.
bool glob_matches(std::string const& glob, std::string_view path);

/// `path` without ROMIO's file system prefix: "ufs:/tmp/x" is "/tmp/x".
std::string_view without_file_system_prefix(std::string_view path);

}  // namespace unisono
