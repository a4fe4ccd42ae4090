#include "options.hpp"

#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

std::vector<std::string> split(std::string const& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        if (!part.empty()) parts.push_back(part);
    return parts;
}

Mode mode_from(std::string const& name) {
    for (Mode const mode : {Mode::fresh, Mode::overwrite, Mode::read, Mode::sync})
        if (name == name_of(mode)) return mode;
    throw std::invalid_argument("unknown mode " + name + ": use fresh, overwrite, read or sync");
}

std::vector<Mode> modes_from(std::string const& names) {
    std::vector<Mode> modes;
    for (auto const& name : split(names, ',')) modes.push_back(mode_from(name));
    if (modes.empty()) throw std::invalid_argument("--mode wants at least one mode");
    return modes;
}

Memory memory_from(std::string const& name) {
    static std::map<std::string, Memory> const known{
        {"host", Memory::host}, {"gpu", Memory::gpu}, {"gpu-copied", Memory::gpu_copied}};
    auto const found = known.find(name);
    if (found == known.end())
        throw std::invalid_argument("unknown memory " + name + ": use host, gpu or gpu-copied");
    return found->second;
}

/// A hint's value may itself hold a comma-free `key=value`; only the first `=` separates.
std::vector<std::pair<std::string, std::string>> hints_from(std::string const& text) {
    std::vector<std::pair<std::string, std::string>> hints;
    for (auto const& hint : split(text, ',')) {
        auto const equals = hint.find('=');
        if (equals == std::string::npos)
            throw std::invalid_argument("hint without a value: " + hint);
        hints.emplace_back(hint.substr(0, equals), hint.substr(equals + 1));
    }
    return hints;
}

template <typename Number, typename Convert>
Number number_from(std::string const& text, Convert convert) {
    std::size_t used = 0;
    Number number{};
    try {
        number = static_cast<Number>(convert(text, &used));
    } catch (std::exception const&) {
        used = 0;
    }
    if (used == 0 || used != text.size() || number < Number{})
        throw std::invalid_argument("not a number that is zero or more: " + text);
    return number;
}

std::uint64_t whole_from(std::string const& text) {
    if (text.starts_with('-')) throw std::invalid_argument("negative number: " + text);
    return number_from<std::uint64_t>(text, [](std::string const& digits, std::size_t* used) {
        return std::stoull(digits, used);
    });
}

using Setter = std::function<void(std::string const&)>;

std::map<std::string_view, Setter> setters(Options& options) {
    return {
        {"--pattern", [&](auto& value) { options.patterns = split(value, ','); }},
        {"--mode", [&](auto& value) { options.modes = modes_from(value); }},
        {"--bytes", [&](auto& value) { options.bytes = whole_from(value); }},
        {"--path", [&](auto& value) { options.path = value; }},
        {"--repeats", [&](auto& value) { options.repeats = static_cast<int>(whole_from(value)); }},
        {"--limit-seconds",
         [&](auto& value) {
             options.limit_seconds = number_from<double>(
                 value,
                 [](std::string const& text, std::size_t* used) { return std::stod(text, used); });
         }},
        {"--hints", [&](auto& value) { options.hints = hints_from(value); }},
        {"--memory", [&](auto& value) { options.memory = memory_from(value); }},
        {"--flip-byte", [&](auto& value) { options.flip_offset = whole_from(value); }},
    };
}

}  // namespace

char const* name_of(Mode mode) {
    switch (mode) {
        case Mode::fresh:
            return "fresh";
        case Mode::overwrite:
            return "overwrite";
        case Mode::read:
            return "read";
        case Mode::sync:
            return "sync";
    }
    return "";
}

Options parse_options(int argument_count, char const* const* arguments) {
    Options options;
    auto const known = setters(options);
    for (int index = 1; index < argument_count; ++index) {
        std::string_view const name = arguments[index];
        if (name == "--help") {
            options.help = true;
        } else if (name == "--list") {
            options.list = true;
        } else if (name == "--posix") {
            options.posix = true;
        } else if (name == "--write-only") {
            options.write_only = true;
        } else if (auto const setter = known.find(name); setter == known.end()) {
            throw std::invalid_argument("unknown option " + std::string(name) + ", see --help");
        } else if (++index == argument_count) {
            throw std::invalid_argument(std::string(name) + " wants a value");
        } else {
            setter->second(arguments[index]);
        }
    }
    if (options.help || options.list) return options;
    if (options.patterns.empty()) throw std::invalid_argument("--pattern is missing, see --list");
    if (options.path.empty()) throw std::invalid_argument("--path is missing");
    if (options.repeats < 1) throw std::invalid_argument("--repeats must be at least 1");
    if (options.posix && options.memory == Memory::gpu)
        throw std::invalid_argument("--posix wants --memory host or gpu-copied");
    return options;
}

char const* usage() {
    return "Measures collective MPI-IO calls and verifies what they moved. One line of JSON for\n"
           "each pattern and mode on stdout.\n"
           "  --pattern A,B     patterns, or `all`; --list names them\n"
           "  --mode M,N        fresh, overwrite, read, sync (a fresh write and MPI_File_sync)\n"
           "  --path FILE       the file to work on; unlinked in the end\n"
           "  --bytes N         about so many bytes by all ranks together (default 64 MiB)\n"
           "  --repeats N       measurements of each mode (default 5)\n"
           "  --limit-seconds S begin no further repeat of a mode after S measured seconds\n"
           "  --hints K=V,K=V   MPI_Info hints for the open\n"
           "  --memory M        where the data are: host (default), gpu, gpu-copied (the program\n"
           "                    copies them to or from pinned memory of the host, within the "
           "time)\n"
           "  --posix           the same bytes by contiguous pwrite / pread, without MPI-IO\n"
           "  --write-only      open what is written with MPI_MODE_WRONLY, not MPI_MODE_RDWR\n"
           "  --flip-byte N     spoil the byte at offset N, to test the verification\n"
           "  --list            name the patterns\n";
}

}  // namespace bench
