#include "options/fault_text.hpp"

#include <string.h>  // strerrorname_np is no part of <cstring>

#include <charconv>

#include "support/text.hpp"

namespace unisono {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, code] = std::from_chars(text.data(), end, number);
    if (code != std::errc{} || stop != end) return std::nullopt;
    return number;
}

std::optional<int> parse_errno(std::string_view text) {
    constexpr int code_max = 4095;  // the kernel returns none above
    auto const number = parse_number(text);
    if (number && *number >= 1 && *number <= code_max) return static_cast<int>(*number);
    for (int code = 1; code <= code_max; ++code) {
        auto const* const name = strerrorname_np(code);
        if (name != nullptr && text == name) return code;
    }
    return std::nullopt;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

std::optional<Fault> parse_error_fault(std::string_view text, Direction direction) {
    auto const equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    auto const offset = parse_number(text.substr(0, equals));
    auto const code = parse_errno(text.substr(equals + 1));
    if (!offset || !code) return std::nullopt;
    return Fault{Fault::Kind::error, direction, *offset, *code, 0};
}

std::optional<Fault> parse_code_fault(std::string_view text, Fault::Kind kind) {
    auto const code = parse_errno(text);
    if (!code) return std::nullopt;
    return Fault{.kind = kind, .code = *code};
}

std::optional<Fault> parse_fault(std::string_view text) {
    if (take_prefix(text, "sync=")) return parse_code_fault(text, Fault::Kind::sync);
    if (take_prefix(text, "close=")) return parse_code_fault(text, Fault::Kind::close);
    auto direction = Direction::write;
    if (take_prefix(text, "read")) {
        direction = Direction::read;
    } else if (!take_prefix(text, "write")) {
        return std::nullopt;
    }
    if (take_prefix(text, "@")) return parse_error_fault(text, direction);
    if (text == "=short") return Fault{Fault::Kind::short_transfers, direction, 0, 0, 0};
    if (!take_prefix(text, "=delay:")) return std::nullopt;
    auto const delay_us = parse_number(text);
    if (!delay_us) return std::nullopt;
    return Fault{Fault::Kind::delay, direction, 0, 0, *delay_us};
}

}  // namespace

std::optional<std::vector<Fault>> parse_faults(std::string_view specification) {
    std::vector<Fault> faults;
    if (specification.empty()) return faults;
    for (auto const item : split(specification, ',')) {
        auto const fault = parse_fault(item);
        if (!fault) return std::nullopt;
        faults.push_back(*fault);
    }
    return faults;
}

}  // namespace unisono
