// Prints one line per strategy: name, summary, source, separated by tabs.
// --draw NAME: what a strategy's plans look like, by examples.
// --check [PATH]: what the library would say about this environment when it opens that file, or
// any.
// --settings PATH [EXECUTABLE WORD...]: the name of the site file where nothing else is said, and
// the options of that file that are not the defaults, and why it is left alone; for a process that
// runs that executable by these words.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options/options.hpp"
#include "strategies/all.hpp"
#include "strategies/plugins.hpp"
#include "strategies/show.hpp"
#include "support/program_name.hpp"

namespace {

int draw(char const* name) {
    auto const text = unisono::draw_examples(name);
    if (text.empty()) std::fprintf(stderr, "unisono-strategies: no picture of %s\n", name);
    return text.empty() || std::fputs(text.c_str(), stdout) < 0;
}

std::vector<std::string> load_plugins() {
    auto const* const paths = secure_getenv("UNISONO_PLUGINS");
    return paths == nullptr ? std::vector<std::string>{} : unisono::load_plugins(paths);
}

unisono::OptionSources sources(unisono::Surroundings const& surroundings) {
    std::vector<unisono::Choice> choices;
    for (auto const* strategy : unisono::all_strategies())
        choices.push_back({strategy->name, strategy->summary});
    return {surroundings, choices};
}

int check(std::string_view path) {
    for (auto const& message : load_plugins()) std::puts(message.c_str());
    auto const here = sources(unisono::Surroundings::real());
    auto const messages = path.empty() ? here.complaints() : here.options_for(path, {}).messages;
    for (auto const& message : messages) std::puts(message.c_str());
    return 0;
}

std::string name_of(std::span<char*> program) {
    std::string words;
    for (auto const* word : program.subspan(1)) (words += word) += '\0';
    return unisono::program_name(program[0], words);
}

int show_settings(char const* path, std::span<char*> program) {
    load_plugins();
    auto surroundings = unisono::Surroundings::real();
    if (!program.empty()) surroundings.program = [program] { return name_of(program); };
    auto const options = *sources(surroundings).options_for(path, {}).options;
    std::printf("site file\t%s\n", unisono::OptionSources::default_site_file().c_str());
    auto const usual = unisono::effective_hints({});
    for (auto const& hint : unisono::effective_hints(options)) {
        if (std::ranges::find(usual, hint) != usual.end()) continue;
        std::printf("%s\t%s\n", hint.first.c_str(), hint.second.c_str());
    }
    if (options.native_only) std::printf("left alone\t%s\n", options.left_alone_by.c_str());
    return 0;
}

int list() {
    for (auto const& message : load_plugins()) std::fprintf(stderr, "%s\n", message.c_str());
    return std::fputs(unisono::list_strategies().c_str(), stdout) < 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 1) return list();
    std::string_view const option{arguments[1]};
    if (count == 3 && option == "--draw") return draw(arguments[2]);
    if (count <= 3 && option == "--check") return check(count == 3 ? arguments[2] : "");
    if (count >= 3 && option == "--settings")
        return show_settings(arguments[2], std::span{arguments, arguments + count}.subspan(3));
    std::fputs(
        "usage: unisono-strategies [--draw NAME | --check [PATH] | --settings PATH"
        " [EXECUTABLE WORD...]]\n",
        stderr);
    return 2;
}
