#include "support/text.hpp"

#include <locale.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace unisono {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    auto const* const end = text.data() + text.size();
    auto const [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return value;
}

}  // namespace

std::string_view trim(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    auto const first = text.find_first_not_of(blank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (auto end = text.find(separator); end != std::string_view::npos;
         end = text.find(separator)) {
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    parts.push_back(text);
    return parts;
}

std::optional<std::uint32_t> parse_count(std::string_view text) {
    return parse_number<std::uint32_t>(text);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    auto const digits = text.find_first_not_of("0123456789");
    auto const number = parse_number<std::uint64_t>(text.substr(0, digits));
    if (!number || digits == std::string_view::npos) return number;

    auto const unit = in_lower_case(text.substr(digits));
    constexpr std::string_view units = "kmgt";
    auto const power = units.find(unit.front());
    auto const rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) {
        return std::nullopt;
    }
    auto const shift = 10 * (power + 1);
    if (*number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
    return *number << shift;
}

std::optional<bool> parse_boolean(std::string_view text) {
    constexpr std::array yes{"true", "enable", "enabled", "yes", "on", "1"};
    constexpr std::array no{"false", "disable", "disabled", "no", "off", "0"};
    auto const word = in_lower_case(text);
    if (std::ranges::find(yes, word) != yes.end()) return true;
    if (std::ranges::find(no, word) != no.end()) return false;
    return std::nullopt;
}

std::string in_lower_case(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

std::string print(char const* format, double value) {
    static auto* const plain = newlocale(LC_ALL_MASK, "C", nullptr);
    auto* const programs = uselocale(plain);
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), format, value);
    uselocale(programs);
    return text.data();
}

std::string grouped(std::uint64_t count) {
    auto text = std::to_string(count);
    for (auto at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
    return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
    return grouped(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

std::size_t make_visible(std::span<char> text) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const byte = static_cast<unsigned char>(text[i]);
        auto const next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        auto const two_bytes = byte == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F
        auto const obeyed =
            two_bytes || byte == 0x7F || (byte < ' ' && byte != '\n' && byte != '\t');
        text[length++] = obeyed ? '?' : text[i];
        if (two_bytes) ++i;
    }
    return length;
}

std::string visible(std::string_view text) {
    std::string shown{text};
    shown.resize(make_visible(shown));
    return shown;
}

std::string number_ranges(std::span<std::uint32_t const> numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto const first = numbers[i];
        while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
        text += (text.empty() ? "" : ", ") + std::to_string(first);
        if (numbers[i] > first) text += "-" + std::to_string(numbers[i]);
    }
    return text;
}

std::string human_seconds(double seconds) {
    if (seconds < 0.1 && seconds > 0) {
        constexpr std::array units{" ms", " us", " ns"};
        std::size_t unit = 0;
        for (seconds *= 1e3; seconds < 0.1 && unit + 1 < units.size(); ++unit) seconds *= 1e3;
        return print("%.3g", seconds) + units[unit];
    }
    if (seconds < 120) return print("%.3g s", seconds);
    // Rounded before it is cut up, or there would be minutes of 60 s.
    auto const whole = static_cast<std::uint64_t>(std::llround(seconds));
    if (whole < 2 * 3600) return grouped(whole / 60) + " min " + grouped(whole % 60) + " s";
    auto const minutes = (whole + 30) / 60;
    return grouped(minutes / 60) + " h " + grouped(minutes % 60) + " min";
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::array units{" bytes", " KiB", " MiB", " GiB", " TiB"};
    std::size_t power = 0;
    while (bytes != 0 && bytes % 1024 == 0 && power + 1 < units.size()) {
        bytes /= 1024;
        ++power;
    }
    return std::to_string(bytes) + units[power];
}

std::string human_bytes(double bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    auto const whole = unit == 0 && bytes == std::floor(bytes);
    return print(whole ? "%.0f " : "%.2f ", bytes) + units[unit];
}

}  // namespace unisono
