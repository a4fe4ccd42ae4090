#include "support/program_name.hpp"

#include <array>
#include <filesystem>

#include "support/file_content.hpp"
#include "support/text.hpp"

namespace unisono {
namespace {

struct Language {
    std::string_view interpreter;  // its name begins so
    std::string_view script;       // its name ends so
};

constexpr std::array languages{Language{"python", ".py"}, Language{"pypy", ".py"},
                               Language{"julia", ".jl"}};

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

std::string program_name(std::string_view executable, std::string_view words) {
    auto const name = last_part(executable);
    for (auto const& language : languages) {
        if (!name.starts_with(language.interpreter)) continue;
        for (auto const word : split(words, '\0'))
            if (word.ends_with(language.script)) return std::string{last_part(word)};
    }
    return std::string{name};
}

std::string own_program_name() {
    std::error_code unreadable;
    auto const executable = std::filesystem::read_symlink("/proc/self/exe", unreadable).string();
    return program_name(executable, file_content("/proc/self/cmdline").value_or(""));
}

}  // namespace unisono
