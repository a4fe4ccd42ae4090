#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/text.hpp"
#include "unisono/options.hpp"

namespace unisono {

/// enable, disable, automatic (or auto), and what parse_boolean() takes.
std::optional<Switch> parse_switch(std::string_view text);

/// Gives a key its latest value.
void set_hint(std::vector<KeyValue>& hints, KeyValue const& latest);

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
    std::vector<HintSpec> specs;                    ///< in the order of the text
    std::vector<std::string> leave_alone;           ///< globs after the word `leave_alone`
    std::vector<std::string> leave_alone_programs;  ///< and after `leave_alone_program`
};

/// Reads a hints file: lines "glob:key=value:key=value", comments after "#" at the beginning of a
/// line, empty lines. A part without "=" belongs to the value before it, so that
/// "*:cb_config_list=*:4" means what it seems to. `name` is for the complaints.
Parsed<HintFile> parse_hint_file(std::string_view text, std::string_view name);

/// The same with lines "leave_alone glob" and "leave_alone_program glob".
Parsed<HintFile> parse_site_file(std::string_view text, std::string_view name);

/// Reads a list "spec,spec,..." in one line, as Cray's MPICH_MPIIO_HINTS has it. A part between
/// commas that does not begin with "glob:key=" belongs to the value before it.
Parsed<HintFile> parse_hint_list(std::string_view text, std::string_view name);

/// Reads ROMIO's hints file as ROMIO does: lines of two words, "key value"; the first one of a key
/// counts; comments after "#" in the first column; other lines are ignored, and complained of.
Parsed<std::vector<KeyValue>> parse_romio_hints(std::string_view text, std::string_view name);

/// Whether a shell pattern (*, ?, [...], \; "*" also matches "/") names this file. It is compared
/// with the name as the program gave it, without a file system prefix such as "ufs:", made
/// absolute, and, where the pattern has no "/", with the last part alone.
bool glob_matches(std::string const& glob, std::string_view path);

/// `path` without ROMIO's file system prefix: "ufs:/tmp/x" is "/tmp/x".
std::string_view without_file_system_prefix(std::string_view path);

}  // namespace unisono
