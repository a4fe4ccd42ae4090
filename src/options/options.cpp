#include "options/options.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "options/settings.hpp"
#include "options/spelling.hpp"
#include "support/file_content.hpp"
#include "support/installation.hpp"
#include "support/program_name.hpp"
#include "support/text.hpp"

namespace unisono {
namespace {

constexpr std::string_view own_prefix = "unisono_";
constexpr std::string_view variable_prefix = "UNISONO_";
constexpr std::string_view test_prefix = "UNISONO_TEST_";
constexpr std::string_view report_prefix = "UNISONO_REPORT";
constexpr std::string_view report_file_variable = "UNISONO_REPORT_FILE";
constexpr std::string_view system_romio_hints = "/etc/romio-hints";

std::string own_hint_names() {
    std::string names;
    for (auto const& hint : known_hints()) {
        if (!hint.name.starts_with(own_prefix)) continue;
        if (!names.empty()) names += ", ";
        names += hint.name;
    }
    return names;
}

bool is_known_variable(std::string_view name) {
    return name.starts_with(test_prefix) || find(known_variables(), name) != nullptr;
}

/// What may have been meant by a variable that nobody reads, as the end of a sentence.
std::string advice_for(std::string_view variable) {
    auto const word = variable.substr(variable_prefix.size());
    auto const hint = in_lower_case(word);
    for (auto const& name : {hint, std::string(own_prefix) + hint})
        if (find(known_hints(), name) != nullptr)
            return "a hint is given as UNISONO_HINTS='*:" + name + "=...'";
    std::vector<std::string_view> words;
    words.reserve(known_variables().size());
    for (auto const& known : known_variables())
        words.push_back(known.name.substr(variable_prefix.size()));
    auto const meant = likely_meant(word, words);
    if (meant.empty()) return "docs/use/hints.md lists them all";
    return "did you mean " + std::string(variable_prefix) + std::string(meant) + "?";
}

/// Obeys a setting and keeps its words, if it makes a difference. Returns its value as MPI
/// libraries read it; nothing if it was refused.
std::optional<std::string> apply_setting(Options& options, Known const& known, Setting setting,
                                         std::string const& words) {
    auto const before = options;
    known.set(options, setting);
    if (options != before) options.settings.push_back(words);
    if (setting.refused) return std::nullopt;
    return std::move(setting.plain);
}

std::string assignment(std::string_view name, std::string_view value) {
    return std::string{name}.append("=").append(value);
}

/// Obeys hints, and returns them as MPI libraries read them, without those that were refused.
std::vector<KeyValue> apply_hints(Options& options, std::span<KeyValue const> hints,
                                  std::string_view source, std::span<Choice const> strategies,
                                  std::vector<std::string>& messages) {
    if (hints.empty()) return {};  // as nearly always
    std::vector<KeyValue> valid(hints.begin(), hints.end());
    for (auto const& known : known_hints()) {
        for (auto const& [key, value] : hints) {
            if (key != known.name) continue;
            auto const from = " (" + std::string(source) + ")";
            auto const subject = std::string{"hint "}.append(key).append(from);
            auto const plain =
                apply_setting(options, known, {value, subject, strategies, &messages},
                              assignment(key, value).append(from));
            if (!plain)
                std::erase(valid, KeyValue{key, value});
            else
                std::ranges::replace(valid, KeyValue{key, value}, KeyValue{key, *plain});
        }
    }
    for (auto const& [key, value] : hints) {
        if (!key.starts_with(own_prefix)) continue;  // MPI: hints that nobody knows are ignored
        if (find(known_hints(), key) != nullptr) continue;
        Setting{key, "unknown hint (" + std::string(source) + ")", strategies, &messages}.refuse(
            own_hint_names());
    }
    return valid;
}

/// Hints of the first specification that names the file.
std::span<KeyValue const> hints_for(HintFile const& file, std::string_view path) {
    auto const match = std::ranges::find_if(
        file.specs, [&](HintSpec const& spec) { return glob_matches(spec.glob, path); });
    if (match == file.specs.end()) return {};
    return match->hints;
}

bool has_key(std::span<KeyValue const> hints, std::string_view key) {
    return std::ranges::find(hints, key, &KeyValue::first) != hints.end();
}

void pass_on(std::vector<KeyValue>& native, std::span<KeyValue const> hints) {
    for (auto const& hint : hints)
        if (!hint.first.starts_with(own_prefix)) set_hint(native, hint);
}

char const* text_of(Switch value) {
    switch (value) {
        case Switch::enable:
            return "enable";
        case Switch::disable:
            return "disable";
        case Switch::automatic:
            break;
    }
    return "automatic";
}

}  // namespace

Surroundings Surroundings::real() {
    return {.variable = [](char const* name) -> char const* { return secure_getenv(name); },
            .content = file_content,
            .names =
                [](std::string_view prefix) {
                    // What the process was started with: the engine uses no environ (see
                    // tools/check_exports.py).
                    std::ifstream file{"/proc/self/environ", std::ios::binary};
                    std::vector<std::string> names;
                    for (std::string entry; std::getline(file, entry, '\0');) {
                        auto name = entry.substr(0, entry.find('='));
                        if (name.starts_with(prefix) && secure_getenv(name.c_str()) != nullptr)
                            names.push_back(std::move(name));
                    }
                    return names;
                },
            .is_there =
                [](std::string const& path) {
                    std::error_code unknown;
                    return std::filesystem::status(path, unknown).type() !=
                           std::filesystem::file_type::not_found;
                },
            .program = own_program_name};
}

std::string OptionSources::default_site_file() {
    auto const folder = site_folder();
    return folder.empty() ? folder : folder + "/unisono.conf";
}

OptionSources::OptionSources(Surroundings const& surroundings, std::span<Choice const> strategies)
    : strategies_{automatic_strategy, paper_strategy} {
    strategies_.insert(strategies_.end(), strategies.begin(), strategies.end());
    auto const value_of = [&](char const* name) -> std::string {
        auto const* const value = surroundings.variable(name);
        return value == nullptr ? "" : std::string(trim(value));
    };

    auto const site = value_of("UNISONO_SITE_FILE");
    site_ = site.empty() ? read_hint_file(surroundings, "", default_site_file(), parse_site_file)
                         : read_hint_file(surroundings, "UNISONO_SITE_FILE", site, parse_site_file);
    auto const& programs = site_.file.leave_alone_programs;
    if (!programs.empty())
        leaves_program_alone_ = std::ranges::any_of(
            programs,
            [name = surroundings.program()](auto const& glob) { return glob_matches(glob, name); });
    auto const* const romio = surroundings.variable("ROMIO_HINTS");
    read_romio_hints(surroundings, romio == nullptr ? "" : romio);
    hints_ = read_unisono_hints(surroundings, value_of("UNISONO_HINTS"));
    cray_hints_ = read_hint_list("MPICH_MPIIO_HINTS", value_of("MPICH_MPIIO_HINTS"));
    auto names = surroundings.names(variable_prefix);
    std::erase_if(names, [&](auto const& name) { return value_of(name.c_str()).empty(); });
    complain_of_unknown(names);
    for (auto const& known : known_variables()) {
        if (known.set == nullptr) continue;
        auto value = value_of(known.name.data());
        if (!value.empty()) variables_.emplace_back(known.name, std::move(value));
    }
    of_unnamed_files_ = choose({});
}

void OptionSources::complain_of_unknown(std::vector<std::string> const& variables) {
    for (auto const& name : variables) {
        if (is_known_variable(name)) continue;
        messages_.push_back("unisono: unknown variable " + name + ": " + advice_for(name));
    }
}

void OptionSources::complain(std::vector<std::string> const& complaints) {
    for (auto const& complaint : complaints) messages_.push_back("unisono: " + complaint);
}

OptionSources::HintSource OptionSources::read_hint_file(Surroundings const& surroundings,
                                                        std::string const& variable,
                                                        std::string const& path, Parser parse) {
    auto const text = surroundings.content(path);
    if (!text) {
        if (!variable.empty() || surroundings.is_there(path))
            complain(
                {(variable.empty() ? "" : variable + ": ") + path + " cannot be read; ignored"});
        return {};
    }
    auto parsed = parse(*text, path);
    complain(parsed.complaints);
    return {path, std::move(parsed.value)};
}

OptionSources::HintSource OptionSources::read_hint_list(std::string const& variable,
                                                        std::string const& text) {
    auto parsed = parse_hint_list(text, variable);
    complain(parsed.complaints);
    return {variable, std::move(parsed.value)};
}

OptionSources::HintSource OptionSources::read_unisono_hints(Surroundings const& surroundings,
                                                            std::string const& setting) {
    if (setting.empty()) return {};
    if (setting.find('=') == std::string::npos)
        return read_hint_file(surroundings, "UNISONO_HINTS", setting, parse_hint_file);
    return read_hint_list("UNISONO_HINTS", setting);
}

void OptionSources::read_romio_hints(Surroundings const& surroundings, std::string const& path) {
    romio_name_ = "ROMIO_HINTS";
    auto text = path.empty() ? std::nullopt : surroundings.content(path);
    if (!text) {
        if (!path.empty()) complain({romio_name_ + ": " + path + " cannot be read; ignored"});
        romio_name_ = system_romio_hints;
        text = surroundings.content(romio_name_);
    }
    if (!text) return;
    auto parsed = parse_romio_hints(*text, romio_name_);
    complain(parsed.complaints);
    romio_hints_ = std::move(parsed.value);
}

ChosenOptions OptionSources::options_for(std::string_view path,
                                         std::span<KeyValue const> info) const {
    SaidOfFile const said{
        .leave_alone = std::ranges::any_of(
            site_.file.leave_alone, [&](auto const& glob) { return glob_matches(glob, path); }),
        .site = hints_for(site_.file, path),
        .hints = hints_for(hints_.file, path),
        .info = info,
        .cray_hints = hints_for(cray_hints_.file, path)};
    auto const named = said.leave_alone || !said.site.empty() || !said.hints.empty() ||
                       !said.info.empty() || !said.cray_hints.empty();
    return named ? choose(said) : of_unnamed_files_;
}

ChosenOptions OptionSources::choose(SaidOfFile const& said) const {
    auto const chosen_options = std::make_shared<Options>();
    ChosenOptions chosen{.options = chosen_options, .messages = messages_};
    auto& options = *chosen_options;
    auto const apply = [&](std::span<KeyValue const> hints, std::string_view source) {
        return apply_hints(options, hints, source, strategies_, chosen.messages);
    };

    options.native_only = leaves_program_alone_ || said.leave_alone;
    if (options.native_only)
        options.left_alone_by = std::string{"a line leave_alone"} +
                                (leaves_program_alone_ ? "_program" : "") + " of " + site_.name;
    auto const weaker = {
        std::pair{said.site, std::string_view(site_.name)},
        std::pair{std::span<KeyValue const>(romio_hints_), std::string_view(romio_name_)},
        std::pair{said.hints, std::string_view(hints_.name)}};
    for (auto const& [hints, source] : weaker) pass_on(options.native_hints, apply(hints, source));
    std::erase_if(options.native_hints,
                  [&](auto const& hint) { return has_key(said.info, hint.first); });

    apply(said.info, "MPI_Info");
    pass_on(options.native_hints, apply(said.cray_hints, cray_hints_.name));

    // Who names a file only wants what `unisono report` reads in it.
    if (std::ranges::find(variables_, report_file_variable, &KeyValue::first) != variables_.end())
        options.report = "json";
    for (auto const& [name, value] : variables_) {
        auto const* const known = find(known_variables(), name);
        Setting setting{value, name, strategies_, &chosen.messages};
        if (name.starts_with(report_prefix))
            known->set(options, setting);
        else
            apply_setting(options, *known, setting, assignment(name, value));
    }
    // ROMIO: without independent access, all access is collective, whatever else was said.
    if (options.no_indep_rw) options.cb_read = options.cb_write = Switch::enable;
    return chosen;
}

std::vector<std::string> OptionSources::complaints() const {
    auto [chosen, messages] = options_for("", {});
    auto options = *chosen;
    for (auto const* source : {&site_, &hints_, &cray_hints_})
        for (auto const& spec : source->file.specs)
            if (spec.hints.data() != hints_for(source->file, "").data())  // else it was said above
                apply_hints(options, spec.hints, source->name, strategies_, messages);
    return messages;
}

std::vector<KeyValue> effective_hints(Options const& options) {
    std::vector<KeyValue> hints;
    auto const add_number = [&](char const* key, std::uint64_t value) {
        if (value != 0) hints.emplace_back(key, std::to_string(value));
    };
    add_number("cb_buffer_size", options.cb_buffer_size);
    add_number("cb_nodes", options.cb_nodes);
    if (!options.cb_config_list.empty()) {
        hints.emplace_back("cb_config_list", options.cb_config_list);
    }
    hints.emplace_back("romio_cb_read", text_of(options.cb_read));
    hints.emplace_back("romio_cb_write", text_of(options.cb_write));
    hints.emplace_back("romio_ds_read", text_of(options.ds_read));
    hints.emplace_back("romio_ds_write", text_of(options.ds_write));
    hints.emplace_back("romio_no_indep_rw", options.no_indep_rw ? "true" : "false");
    add_number("striping_unit", options.striping_unit);
    add_number("striping_factor", options.striping_factor);
    hints.emplace_back("unisono_enable", options.native_only ? "false" : "true");
    hints.emplace_back("unisono_strategy", options.strategy);
    hints.emplace_back("unisono_backend", options.backend);
    hints.emplace_back("unisono_exchange", options.exchange);
    hints.emplace_back("unisono_select", options.select);
    hints.emplace_back("unisono_intra_node_aggregation", text_of(options.intra_node_aggregation));
    hints.emplace_back("unisono_resonant_read", options.prefetch_then_read ? "direct" : "exchange");
    hints.emplace_back("unisono_resonant_groups",
                       options.as_many_groups_as_servers ? "by_count" : "by_size");
    hints.emplace_back("unisono_flush", options.flush_at_close ? "close" : "online");
    hints.emplace_back("unisono_write_behind", text_of(options.write_behind));
    add_number("unisono_write_behind_bytes", options.write_behind_bytes);
    add_number("unisono_write_behind_s", options.write_behind_s);
    hints.emplace_back("unisono_read_ahead", text_of(options.read_ahead));
    hints.emplace_back("unisono_overlap", text_of(options.overlap));
    add_number("unisono_pool_bytes", options.pool_bytes);
    hints.emplace_back("unisono_sync_at_close", options.sync_at_close ? "true" : "false");
    hints.emplace_back("unisono_stall", options.stall);
    add_number("unisono_stall_s", options.stall_s);
    if (!options.layout.empty()) hints.emplace_back("unisono_layout", options.layout);
    return hints;
}

}  // namespace unisono
