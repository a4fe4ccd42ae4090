#include "options/hint_text.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace unisono {
namespace {

bool has_value(std::string_view part) { return part.find('=') != std::string_view::npos; }

/// Whether a part between commas begins a specification: what follows its glob is a hint.
bool begins_spec(std::string_view part) {
    auto const parts = split(part, ':');
    return parts.size() > 1 && has_value(parts[1]);
}

/// Joins each part that begins nothing of its own to the one before it; drops empty ones.
template <class Begins>
std::vector<std::string> join_continuations(std::string_view text, char separator, Begins begins) {
    std::vector<std::string> joined;
    for (auto const part : split(text, separator)) {
        if (trim(part).empty()) continue;
        if (joined.empty() || begins(part)) {
            joined.emplace_back(part);
        } else {
            joined.back() += separator;
            joined.back() += part;
        }
    }
    return joined;
}

/// "glob:key=value:key=value"; nothing if there is no glob or no hint.
std::optional<HintSpec> parse_spec(std::string_view text) {
    auto const colon = text.find(':');
    if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
    HintSpec spec{.glob = std::string(trim(text.substr(0, colon))), .hints = {}};
    for (auto const& hint : join_continuations(text.substr(colon + 1), ':', has_value)) {
        auto const equals = hint.find('=');
        if (equals == std::string::npos) return std::nullopt;
        auto const value = std::string_view(hint).substr(equals + 1);
        spec.hints.emplace_back(trim(hint.substr(0, equals)), trim(value));
    }
    return spec;
}

constexpr std::string_view valid_spec = "glob:key=value:key=value";
constexpr std::string_view valid_site_line =
    "glob:key=value:key=value, leave_alone glob, leave_alone_program glob";

std::string complaint(std::string_view name, std::string_view text, std::string_view valid) {
    return std::string(name) + ": cannot read \"" + std::string(text) +
           "\"; ignored; valid: " + std::string(valid);
}

void add_spec(Parsed<HintFile>& into, std::string_view text, std::string_view name,
              std::string_view valid) {
    if (auto spec = parse_spec(text)) {
        into.value.specs.push_back(std::move(*spec));
    } else {
        into.complaints.push_back(complaint(name, text, valid));
    }
}

/// Calls `take` with each line that says something, and with the file's name and the line's number.
template <class Take>
void each_line(std::string_view text, std::string_view name, Take take) {
    std::size_t line_number = 0;
    for (auto const raw : split(text, '\n')) {
        ++line_number;
        auto const line = trim(raw);
        if (line.empty() || line.front() == '#') continue;
        take(line, std::string(name) + " line " + std::to_string(line_number));
    }
}

/// The rest of a line that begins with `word` and a space.
std::optional<std::string_view> after_word(std::string_view line, std::string_view word) {
    if (!line.starts_with(word) || line.size() == word.size()) return std::nullopt;
    auto const rest = line.substr(word.size());
    if (rest.front() != ' ' && rest.front() != '\t') return std::nullopt;
    return trim(rest);
}

bool matches(std::string const& glob, std::string const& name) {
    return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

std::optional<Switch> parse_switch(std::string_view text) {
    auto const word = in_lower_case(text);
    if (word == "automatic" || word == "auto") return Switch::automatic;
    auto const on = parse_boolean(word);
    if (!on) return std::nullopt;
    return *on ? Switch::enable : Switch::disable;
}

Parsed<HintFile> parse_hint_file(std::string_view text, std::string_view name) {
    Parsed<HintFile> file;
    each_line(text, name, [&](std::string_view line, std::string const& where) {
        add_spec(file, line, where, valid_spec);
    });
    return file;
}

Parsed<HintFile> parse_site_file(std::string_view text, std::string_view name) {
    Parsed<HintFile> file;
    each_line(text, name, [&](std::string_view line, std::string const& where) {
        if (auto const glob = after_word(line, "leave_alone")) {
            file.value.leave_alone.emplace_back(*glob);
        } else if (auto const program = after_word(line, "leave_alone_program")) {
            file.value.leave_alone_programs.emplace_back(*program);
        } else {
            add_spec(file, line, where, valid_site_line);
        }
    });
    return file;
}

Parsed<HintFile> parse_hint_list(std::string_view text, std::string_view name) {
    Parsed<HintFile> file;
    for (auto const& spec : join_continuations(text, ',', begins_spec)) {
        add_spec(file, trim(spec), name, valid_spec);
    }
    return file;
}

Parsed<std::vector<KeyValue>> parse_romio_hints(std::string_view text, std::string_view name) {
    constexpr std::string_view blanks = " \t";
    Parsed<std::vector<KeyValue>> hints;
    each_line(text, name, [&](std::string_view line, std::string const& where) {
        auto const key = line.substr(0, line.find_first_of(blanks));
        auto const value = trim(line.substr(key.size()));
        if (value.empty() || value.find_first_of(blanks) != std::string_view::npos) {
            hints.complaints.push_back(complaint(where, line, "key value"));
        } else if (std::ranges::find(hints.value, key, &KeyValue::first) == hints.value.end()) {
            hints.value.emplace_back(key, value);
        }
    });
    return hints;
}

void set_hint(std::vector<KeyValue>& hints, KeyValue const& latest) {
    auto const known = std::ranges::find(hints, latest.first, &KeyValue::first);
    if (known == hints.end())
        hints.push_back(latest);
    else
        known->second = latest.second;
}

std::string_view without_file_system_prefix(std::string_view path) {
    auto const colon = path.find(':');
    // One letter before the colon is a drive for ROMIO; a "/" before it is part of a real name.
    if (colon == std::string_view::npos || colon < 2) return path;
    auto const is_word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    if (!std::ranges::all_of(path.substr(0, colon), is_word)) return path;
    return path.substr(colon + 1);
}

bool glob_matches(std::string const& glob, std::string_view path) {
    if (matches(glob, std::string(path))) return true;
    std::filesystem::path const bare(without_file_system_prefix(path));
    if (matches(glob, bare.string())) return true;
    if (glob.find('/') == std::string::npos) return matches(glob, bare.filename().string());
    std::error_code no_working_directory;
    auto const full = std::filesystem::absolute(bare, no_working_directory).lexically_normal();
    return !no_working_directory && matches(glob, full.string());
}

}  // namespace unisono
