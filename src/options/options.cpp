#include "options/options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include "layouts/layout_text.hpp"
#include "options/cb_config_list.hpp"
#include "options/fault_text.hpp"
#include "options/spelling.hpp"
#include "support/file_content.hpp"
#include "support/installation.hpp"

namespace unisono {
namespace {

constexpr std::array<Choice, 6> backends{{
    {"auto", "mapped on local file systems, uring on others"},
    {"posix", "one pread or pwrite per extent"},
    {"threads", "the same, each list on a thread of its own while ranks exchange"},
    {"uring", "io_uring, one submission per list"},
    {"mapped", "a mapping of the file"},
    {"mpiio", "contiguous calls of the MPI library"},
}};
constexpr std::array<Choice, 4> selections{{
    {"auto", "by rule; what it only guesses is measured, off a node's own file system"},
    {"rule", "by sizes and interleaving"},
    {"measured", "by measuring the strategies on the program's own calls"},
    {"orthrus", "the same, exactly as the paper has it"},
}};
constexpr std::array<Choice, 2> resonant_reads{{
    {"exchange", "agents send what they have read"},
    {"direct", "agents warm the servers' caches, then every rank reads for itself"},
}};
constexpr std::array<Choice, 2> resonant_groups{{
    {"by_size", "ranks that take turns are in groups of as many as their servers"},
    {"by_count", "they are in as many groups as there are servers"},
}};
constexpr std::array<Choice, 2> flushes{{
    {"online", "buffers that live across calls are written in the background"},
    {"close", "they are written when their memory is needed, at sync and at close"},
}};
constexpr std::array<Choice, 3> exchanges{{
    {"auto", "shared memory on a node, messages between nodes"},
    {"shared_memory", "shared memory on a node, messages between nodes"},
    {"messages", "messages everywhere"},
}};
constexpr std::array<Choice, 3> reports{{
    {"none", "say nothing"},
    {"summary", "one line per file at its close"},
    {"json", "one JSON object per file at its close"},
}};
constexpr std::array<Choice, 3> checks{{
    {"none", "plans of plug-ins only"},
    {"plans", "every plan, before each collective call"},
    {"communicate", "and that all ranks have the same ones"},
}};
constexpr std::array<Choice, 4> stalls{{
    {"auto", "say which ranks are in which call, as far as ranks that wait can see it"},
    {"none", "wait without a word"},
    {"warn", "say it wherever they are stuck, which takes a thread"},
    {"abort", "say so and end the program"},
}};
constexpr Choice automatic_strategy{"auto", "Unisono chooses"};
constexpr Choice paper_strategy{"orthrus", "the same as auto with unisono_select=orthrus"};

std::string names_of(std::span<Choice const> choices) {
    std::string names;
    for (auto const& choice : choices) {
        if (!names.empty()) names += ", ";
        names += choice.name;
    }
    return names;
}

std::string describe(std::string_view subject, std::span<Choice const> choices) {
    std::size_t width = 0;
    for (auto const& choice : choices) width = std::max(width, choice.name.size());
    std::string text = "unisono: values of " + std::string(subject) + ":";
    for (auto const& choice : choices) {
        text += "\n  ";
        text += choice.name;
        text.append(width - choice.name.size() + 2, ' ');
        text += choice.summary;
    }
    return text;
}

/// A setting on its way into the options, with what it may say back.
struct Setting {
    std::string_view value;
    std::string_view subject;            ///< for messages: hint name and source, or variable
    std::span<Choice const> strategies;  ///< with "auto"
    std::vector<std::string>* messages;
    bool refused = false;
    std::string plain{value};  ///< as MPI libraries read it

    void refuse(std::string_view valid) {
        refused = true;
        say("unisono: " + std::string(subject) + ": \"" + std::string(value) +
            "\" ignored; valid: " + std::string(valid));
    }
    void say(std::string message) const {
        if (std::ranges::find(*messages, message) == messages->end()) {
            messages->push_back(std::move(message));
        }
    }
};

using Setter = void (*)(Options&, Setting&);

void choose(std::string& field, Setting& setting, std::span<Choice const> choices) {
    if (setting.value == "help") return setting.say(describe(setting.subject, choices));
    if (std::ranges::find(choices, setting.value, &Choice::name) == choices.end()) {
        return setting.refuse(names_of(choices));
    }
    field = setting.value;
}

template <auto field>
void set_switch(Options& options, Setting& setting) {
    if (auto const value = parse_switch(setting.value)) {
        options.*field = *value;
    } else {
        setting.refuse("enable, disable, automatic");
    }
}

template <auto field, bool when_true = true>
void set_boolean(Options& options, Setting& setting) {
    if (auto const value = parse_boolean(setting.value)) {
        options.*field = *value == when_true;
    } else {
        setting.refuse("true, false");
    }
}

template <bool when_true>
void set_native_only(Options& options, Setting& setting) {
    set_boolean<&Options::native_only, when_true>(options, setting);
    if (!parse_boolean(setting.value)) return;
    auto const said = std::string(setting.subject) + ": " + std::string(setting.value);
    options.left_alone_by = options.native_only ? said : "";
}

template <auto field>
void set_bytes(Options& options, Setting& setting) {
    if (auto const value = parse_bytes(setting.value); value && *value > 0) {
        options.*field = *value;
        setting.plain = std::to_string(*value);  // ROMIO takes 32M for 32
    } else {
        setting.refuse("a positive number of bytes, such as 16777216 or 16M");
    }
}

template <auto field>
void set_count(Options& options, Setting& setting) {
    if (auto const value = parse_count(setting.value); value && *value > 0) {
        options.*field = *value;
    } else {
        setting.refuse("a positive number");
    }
}

template <auto field>
void set_text(Options& options, Setting& setting) {
    options.*field = setting.value;
}

void set_layout(Options& options, Setting& setting) {
    auto const layout = parse_layout(setting.value, "");
    if (setting.value.empty() || layout.known()) {
        options.layout = setting.value;
    } else {
        setting.refuse("stripe_bytes=64K,servers=4 and the like (" + layout.reason + ")");
    }
}

void set_faults(Options& options, Setting& setting) {
    if (parse_faults(setting.value)) {
        options.faults = setting.value;
    } else {
        setting.refuse(valid_faults);
    }
}

/// Others obey it before there are options; whether it is valid is said with the others.
void check_boolean(Options& /*options*/, Setting& setting) {
    if (!parse_boolean(setting.value)) setting.refuse("true, false");
}

void set_strategy(Options& options, Setting& setting) {
    if (setting.value == paper_strategy.name) {
        options.strategy = automatic_strategy.name;
        options.select = paper_strategy.name;
        return;
    }
    choose(options.strategy, setting, setting.strategies);
}
void set_select(Options& options, Setting& setting) { choose(options.select, setting, selections); }
void set_backend(Options& options, Setting& setting) { choose(options.backend, setting, backends); }
void set_exchange(Options& options, Setting& setting) {
    choose(options.exchange, setting, exchanges);
}
void set_resonant_read(Options& options, Setting& setting) {
    std::string how;
    choose(how, setting, resonant_reads);
    if (!how.empty()) options.prefetch_then_read = how == "direct";
}
void set_resonant_groups(Options& options, Setting& setting) {
    std::string how;
    choose(how, setting, resonant_groups);
    if (!how.empty()) options.as_many_groups_as_servers = how == "by_count";
}
void set_flush(Options& options, Setting& setting) {
    std::string when;
    choose(when, setting, flushes);
    if (!when.empty()) options.flush_at_close = when == "close";
}
void set_check(Options& options, Setting& setting) { choose(options.check, setting, checks); }
void set_stall(Options& options, Setting& setting) { choose(options.stall, setting, stalls); }
void set_report(Options& options, Setting& setting) { choose(options.report, setting, reports); }

void set_striping_factor(Options& options, Setting& setting) {
    // Lustre's "all servers", and what ROMIO says of a file of which it does not know: programs
    // hand it back. To us both mean that the count is not known.
    if (setting.value == "-1" || setting.value == "0") {
        options.striping_factor = 0;
    } else {
        set_count<&Options::striping_factor>(options, setting);
    }
}

void set_striping_unit(Options& options, Setting& setting) {
    if (setting.value == "0") {  // as above
        options.striping_unit = 0;
    } else {
        set_bytes<&Options::striping_unit>(options, setting);
    }
}

void set_cb_config_list(Options& options, Setting& setting) {
    if (parse_cb_config_list(setting.value)) {
        options.cb_config_list = setting.value;
    } else {
        setting.refuse("host:N,host:N,*:N");
    }
}

void set_collective_buffering(Options& options, Setting& setting) {
    set_switch<&Options::cb_read>(options, setting);
    if (parse_switch(setting.value)) options.cb_write = options.cb_read;
}

void set_topology(Options& options, Setting& setting) {
    constexpr std::string_view prefix = "nodes=";
    constexpr std::string_view suffix = ",fragments";
    std::string_view const value{setting.value};
    auto const fragments = value.ends_with(suffix);
    auto const number = value.substr(0, value.size() - (fragments ? suffix.size() : 0));
    auto const nodes = number.starts_with(prefix)
                           ? parse_count(std::string{number.substr(prefix.size())})
                           : std::nullopt;
    if (nodes && *nodes > 0) {
        options.pretended_nodes = *nodes;
        options.pretended_fragments = fragments;
    } else {
        setting.refuse("nodes=N or nodes=N,fragments");
    }
}

struct Known {
    std::string_view name;
    Setter set;
};

// General before special: within one source, romio_cb_write corrects collective_buffering,
// whatever the order in which they were given.
constexpr std::array known_hints{
    Known{"collective_buffering", set_collective_buffering},
    Known{"stripe_size", set_striping_unit},
    Known{"stripe_width", set_striping_factor},
    Known{"cb_read", set_switch<&Options::cb_read>},
    Known{"cb_write", set_switch<&Options::cb_write>},
    Known{"ds_read", set_switch<&Options::ds_read>},
    Known{"ds_write", set_switch<&Options::ds_write>},
    Known{"striping_unit", set_striping_unit},
    Known{"striping_factor", set_striping_factor},
    Known{"romio_cb_read", set_switch<&Options::cb_read>},
    Known{"romio_cb_write", set_switch<&Options::cb_write>},
    Known{"romio_ds_read", set_switch<&Options::ds_read>},
    Known{"romio_ds_write", set_switch<&Options::ds_write>},
    Known{"romio_no_indep_rw", set_boolean<&Options::no_indep_rw>},
    Known{"cb_buffer_size", set_bytes<&Options::cb_buffer_size>},
    Known{"cb_nodes", set_count<&Options::cb_nodes>},
    Known{"cb_config_list", set_cb_config_list},
    Known{"unisono_strategy", set_strategy},
    Known{"unisono_select", set_select},
    Known{"unisono_backend", set_backend},
    Known{"unisono_exchange", set_exchange},
    Known{"unisono_intra_node_aggregation", set_switch<&Options::intra_node_aggregation>},
    Known{"unisono_two_layers", set_switch<&Options::intra_node_aggregation>},  // its old name
    Known{"unisono_resonant_read", set_resonant_read},
    Known{"unisono_resonant_groups", set_resonant_groups},
    Known{"unisono_flush", set_flush},
    Known{"unisono_write_behind", set_switch<&Options::write_behind>},
    Known{"unisono_write_behind_bytes", set_bytes<&Options::write_behind_bytes>},
    Known{"unisono_write_behind_s", set_count<&Options::write_behind_s>},
    Known{"unisono_read_ahead", set_switch<&Options::read_ahead>},
    Known{"unisono_overlap", set_switch<&Options::overlap>},
    Known{"unisono_pool_bytes", set_bytes<&Options::pool_bytes>},
    Known{"unisono_sync_at_close", set_boolean<&Options::sync_at_close>},
    Known{"unisono_stall", set_stall},
    Known{"unisono_stall_s", set_count<&Options::stall_s>},
    Known{"unisono_layout", set_layout},
    Known{"unisono_enable", set_native_only<false>},
    Known{"unisono_faults", set_faults},
};

/// A variable that is no option of a file. Others read it; here it is only known.
constexpr Known elsewhere(std::string_view name) { return {name, nullptr}; }

constexpr std::string_view variable_prefix = "UNISONO_";
constexpr std::string_view test_prefix = "UNISONO_TEST_";
constexpr std::string_view report_prefix = "UNISONO_REPORT";

// All variables that anything of Unisono reads, but for tests' own that begin with test_prefix.
constexpr std::array known_variables{
    Known{"UNISONO_STRATEGY", set_strategy},
    Known{"UNISONO_SELECT", set_select},
    Known{"UNISONO_BACKEND", set_backend},
    Known{"UNISONO_EXCHANGE", set_exchange},
    Known{"UNISONO_CHECK", set_check},
    Known{"UNISONO_STALL", set_stall},
    Known{"UNISONO_STALL_S", set_count<&Options::stall_s>},
    Known{"UNISONO_TUNE", set_text<&Options::tune>},
    Known{"UNISONO_TUNE_SITE", set_text<&Options::tune_site>},
    Known{"UNISONO_LAYOUT", set_layout},
    Known{"UNISONO_TOPOLOGY", set_topology},
    Known{"UNISONO_REPORT", set_report},
    Known{"UNISONO_REPORT_FILE", set_text<&Options::report_file>},
    Known{"UNISONO_REPORT_TRACES", set_text<&Options::report_traces>},
    Known{"UNISONO_REPORT_TIMELINE", set_boolean<&Options::report_timeline>},
    Known{"UNISONO_REPORT_CALLS", set_boolean<&Options::report_calls>},
    Known{"UNISONO_FAULTS", set_faults},
    Known{"UNISONO_WRITE_BEHIND", set_switch<&Options::write_behind>},
    Known{"UNISONO_READ_AHEAD", set_switch<&Options::read_ahead>},
    Known{"UNISONO_OVERLAP", set_switch<&Options::overlap>},
    Known{"UNISONO_SYNC_AT_CLOSE", set_boolean<&Options::sync_at_close>},
    Known{"UNISONO_ALLOW_LONE_RANKS", set_boolean<&Options::allow_lone_ranks>},
    Known{"UNISONO_DISABLE", set_native_only<true>},
    Known{"UNISONO_PRELOAD_CHILDREN", check_boolean},
    elsewhere("UNISONO_HINTS"),
    elsewhere("UNISONO_SITE_FILE"),
    elsewhere("UNISONO_PLUGINS"),
    elsewhere("UNISONO_PROGRAM"),
    elsewhere("UNISONO_RUNTIME"),
    elsewhere("UNISONO_ROOT"),  // set by modulefiles and read by CMake, as UNISONO_DIR
    elsewhere("UNISONO_DIR"),
    elsewhere("UNISONO_BUILD_DIR"),  // from here on: of the tests
    elsewhere("UNISONO_TIMING_LOCK"),
    elsewhere("UNISONO_BAD_PLAN"),
    elsewhere("UNISONO_FUZZ_ROUNDS"),
};

constexpr std::string_view own_prefix = "unisono_";
constexpr std::string_view system_romio_hints = "/etc/romio-hints";

std::string own_hint_names() {
    std::string names;
    for (auto const& hint : known_hints) {
        if (!hint.name.starts_with(own_prefix)) continue;
        if (!names.empty()) names += ", ";
        names += hint.name;
    }
    return names;
}

bool is_known_variable(std::string_view name) {
    return name.starts_with(test_prefix) ||
           std::ranges::find(known_variables, name, &Known::name) != known_variables.end();
}

/// What may have been meant by a variable that nobody reads, as the end of a sentence.
std::string advice_for(std::string_view variable) {
    auto const word = variable.substr(variable_prefix.size());
    std::string hint;
    for (auto const letter : word) hint += static_cast<char>(std::tolower(letter));
    for (auto const& name : {hint, std::string(own_prefix) + hint}) {
        if (std::ranges::find(known_hints, name, &Known::name) == known_hints.end()) continue;
        return "a hint is given as UNISONO_HINTS='*:" + name + "=...'";
    }
    std::vector<std::string_view> words;
    words.reserve(known_variables.size());
    for (auto const& known : known_variables)
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
    std::vector<KeyValue> valid(hints.begin(), hints.end());
    for (auto const& known : known_hints) {
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
        if (std::ranges::find(known_hints, key, &Known::name) != known_hints.end()) continue;
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
    for (auto const& hint : hints) {
        if (hint.first.starts_with(own_prefix)) continue;
        auto const old = std::ranges::find(native, hint.first, &KeyValue::first);
        if (old == native.end()) {
            native.push_back(hint);
        } else {
            old->second = hint.second;
        }
    }
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
                }};
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
    site_ = read_hint_file(surroundings, site.empty() ? default_site_file() : site, parse_site_file,
                           !site.empty());
    auto const* const romio = surroundings.variable("ROMIO_HINTS");
    read_romio_hints(surroundings, romio == nullptr ? "" : romio);
    hints_ = read_unisono_hints(surroundings, value_of("UNISONO_HINTS"));
    cray_hints_ = read_hint_list("MPICH_MPIIO_HINTS", value_of("MPICH_MPIIO_HINTS"));
    complain_of_unknown(surroundings.names(variable_prefix));
    for (auto const& known : known_variables) {
        if (known.set == nullptr) continue;
        auto value = value_of(known.name.data());
        if (!value.empty()) variables_.emplace_back(known.name, std::move(value));
    }
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
                                                        std::string const& path, Parser parse,
                                                        bool must_exist) {
    auto const text = surroundings.content(path);
    if (!text) {
        if (must_exist) complain({path + ": cannot be read; ignored"});
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
        return read_hint_file(surroundings, setting, parse_hint_file, /*must_exist=*/true);
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
    ChosenOptions chosen{.options = {}, .messages = messages_};
    auto& options = chosen.options;
    auto const apply = [&](std::span<KeyValue const> hints, std::string_view source) {
        return apply_hints(options, hints, source, strategies_, chosen.messages);
    };

    options.native_only = std::ranges::any_of(
        site_.file.leave_alone, [&](auto const& glob) { return glob_matches(glob, path); });
    if (options.native_only) options.left_alone_by = "a line leave_alone of " + site_.name;
    auto const weaker = {
        std::pair{hints_for(site_.file, path), std::string_view(site_.name)},
        std::pair{std::span<KeyValue const>(romio_hints_), std::string_view(romio_name_)},
        std::pair{hints_for(hints_.file, path), std::string_view(hints_.name)}};
    for (auto const& [hints, source] : weaker) pass_on(options.native_hints, apply(hints, source));
    std::erase_if(options.native_hints,
                  [&](auto const& hint) { return has_key(info, hint.first); });

    apply(info, "MPI_Info");
    pass_on(options.native_hints, apply(hints_for(cray_hints_.file, path), cray_hints_.name));

    for (auto const& [name, value] : variables_) {
        auto const known = std::ranges::find(known_variables, name, &Known::name);
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
    auto [options, messages] = options_for("", {});
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
