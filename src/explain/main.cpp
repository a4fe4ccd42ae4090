// What each strategy would do about a call that is described in words: JSON for `unisono explain`.
// --patterns: one line for each pattern: name, summary, and a piece's bytes, separated by tabs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "explain/explain_json.hpp"
#include "explain/pattern.hpp"
#include "layouts/layout_text.hpp"
#include "options/options.hpp"
#include "strategies/all.hpp"
#include "strategies/plugins.hpp"
#include "support/text.hpp"

namespace unisono {
namespace {

constexpr std::uint32_t ranks_most = 128;
constexpr std::uint64_t bytes_most = 1 << 30;

struct Wishes {
    std::string pattern = "strided";
    PatternSizes sizes{.ranks = 8, .piece_bytes = 0};  ///< 0: the pattern's own
    std::uint32_t nodes = 1;
    bool read = false;
    std::string layout;
    std::string storage;
    std::vector<std::string> hints;
    std::size_t columns = 64;
    std::vector<std::uint64_t> part;
    bool list_patterns = false;
};

void add_options(CLI::App& app, Wishes& wishes) {
    std::vector<std::string> names;
    for (auto const& pattern : all_patterns()) names.emplace_back(pattern.name);
    auto const size = CLI::AsSizeValue(false);
    app.add_option("--pattern", wishes.pattern)->check(CLI::IsMember(names));
    auto* piece = app.add_option("--piece", wishes.sizes.piece_bytes)->transform(size);
    piece->check(CLI::Range(std::uint64_t{1}, bytes_most));
    app.add_option("--bytes", wishes.sizes.bytes)
        ->transform(size)
        ->check(CLI::Range(std::uint64_t{0}, bytes_most));
    app.add_option("--ranks", wishes.sizes.ranks)->check(CLI::Range(1u, ranks_most));
    app.add_option("--nodes", wishes.nodes)->check(CLI::Range(1u, ranks_most));
    app.add_flag("--read", wishes.read);
    app.add_option("--layout", wishes.layout);
    app.add_option("--storage", wishes.storage)->check(CLI::IsMember({"local", "parallel", "nfs"}));
    app.add_option("--hint", wishes.hints);
    app.add_option("--columns", wishes.columns)->check(CLI::Range(8, 400));
    app.add_option("--part", wishes.part)->transform(size)->expected(2);
    app.add_flag("--patterns", wishes.list_patterns);
}

// As the library would have them here, with the hints that are given.
Options options_for(std::vector<std::string> const& texts) {
    std::vector<KeyValue> hints;
    for (auto const& text : texts) {
        auto const at = text.find('=');
        if (at == std::string::npos)
            throw std::invalid_argument("hint '" + text + "'; valid: key=value");
        hints.emplace_back(text.substr(0, at), text.substr(at + 1));
    }
    std::vector<Choice> choices;
    for (auto const* strategy : all_strategies())
        choices.push_back({strategy->name, strategy->summary});
    OptionSources const sources{Surroundings::real(), choices};
    auto chosen = sources.options_for("", hints);
    for (auto const& message : chosen.messages) {
        if (message.find("(MPI_Info)") != std::string::npos) throw std::invalid_argument(message);
        std::fprintf(stderr, "%s\n", message.c_str());
    }
    return *chosen.options;
}

Layout layout_for(std::string const& text) {
    if (text.empty()) return Layout::unknown("explain", "none was given");
    auto layout = parse_layout(text, "given");
    if (!layout.known()) throw std::invalid_argument("layout '" + text + "': " + layout.reason);
    return layout;
}

Scene scene_for(Wishes const& wishes) {
    auto const ranks = wishes.sizes.ranks;
    if (wishes.nodes > ranks) throw std::invalid_argument("more nodes than ranks");
    auto options = options_for(wishes.hints);
    // Who may not share memory is a node of its own.
    auto const nodes = options.exchange == "messages" ? ranks : wishes.nodes;
    std::vector<std::uint32_t> labels(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) labels[rank] = rank * nodes / ranks;
    auto sizes = wishes.sizes;
    auto const& pattern = *find_pattern(wishes.pattern);
    if (sizes.piece_bytes == 0) sizes.piece_bytes = pattern.piece_bytes;
    Scene scene{.topology = make_topology(labels),
                .layout = {},
                .requests = pattern.requests(sizes),
                .options = std::move(options),
                .direction = wishes.read ? Direction::read : Direction::write};
    scene.layout = layout_for(wishes.layout.empty() ? scene.options.layout : wishes.layout);
    auto const local = wishes.storage.empty() ? wishes.nodes == 1 && !scene.layout.known()
                                              : wishes.storage == "local";
    scene.local_storage = local;
    scene.page_cached = wishes.storage == "nfs";
    SceneFacts const known{scene};
    if (known.facts.bytes > bytes_most)
        throw std::invalid_argument("the ranks ask for " + size_text(known.facts.bytes) +
                                    " together; at most " + size_text(bytes_most));
    return scene;
}

Extent part_of(Scene const& scene, std::vector<std::uint64_t> const& wished) {
    if (wished.empty()) return SceneFacts{scene}.facts.touched;
    if (wished[0] >= wished[1]) throw std::invalid_argument("a part ends behind its beginning");
    return {wished[0], wished[1]};
}

int explain_all(Wishes const& wishes) {
    auto const scene = scene_for(wishes);
    std::vector<Asked> asked{{"auto", explain(scene, "auto")}};
    for (auto const* strategy : all_strategies())
        asked.push_back({strategy->name, explain(scene, strategy->name)});
    auto const columns = columns_for(part_of(scene, wishes.part), wishes.columns);
    return std::puts(explanation_json(scene, columns, asked).c_str()) < 0;
}

int list_patterns() {
    for (auto const& pattern : all_patterns())
        std::printf("%s\t%s\t%s\n", pattern.name.data(), pattern.summary.data(),
                    size_text(pattern.piece_bytes).c_str());
    return 0;
}

}  // namespace
}  // namespace unisono

int main(int count, char** arguments) {
    unisono::Wishes wishes;
    CLI::App app("What each strategy would do about a collective call.");
    unisono::add_options(app, wishes);
    CLI11_PARSE(app, count, arguments);
    if (auto const* const paths = secure_getenv("UNISONO_PLUGINS"))
        for (auto const& message : unisono::load_plugins(paths))
            std::fprintf(stderr, "%s\n", message.c_str());
    try {
        return wishes.list_patterns ? unisono::list_patterns() : unisono::explain_all(wishes);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
