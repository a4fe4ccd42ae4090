#include "options/settings.hpp"

#include <algorithm>
#include <array>

#include "layouts/layout_text.hpp"
#include "options/cb_config_list.hpp"
#include "options/fault_text.hpp"

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
    {"direct", "agents warm the servers' caches, then every rank reads what is still missing"},
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

void choose(std::string& field, Setting& setting, std::span<Choice const> choices) {
    if (setting.value == "help") return setting.say(describe(setting.subject, choices));
    if (std::ranges::find(choices, setting.value, &Choice::name) == choices.end()) {
        return setting.refuse(names_of(choices));
    }
    field = setting.value;
}

template <auto field, auto const& choices>
void set_choice(Options& options, Setting& setting) {
    choose(options.*field, setting, choices);
}

/// Of two choices the second one, as true.
template <auto field, auto const& choices>
void set_second_choice(Options& options, Setting& setting) {
    std::string chosen;
    choose(chosen, setting, choices);
    if (!chosen.empty()) options.*field = chosen == choices[1].name;
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
        setting.refuse("a positive whole number of bytes, such as 16777216 or 16M");
    }
}

template <auto field>
void set_count(Options& options, Setting& setting) {
    if (auto const value = parse_count(setting.value); value && *value > 0) {
        options.*field = *value;
    } else {
        setting.refuse("a whole number from 1 to 4294967295");
    }
}

template <auto field>
void set_text(Options& options, Setting& setting) {
    options.*field = setting.value;
}

template <bool by_variable>
void set_layout(Options& options, Setting& setting) {
    auto const layout = parse_layout(setting.value, "");
    if (setting.value.empty() || layout.known()) {
        options.layout = setting.value;
        options.layout_named = setting.value.empty() ? ""
                               : by_variable         ? "UNISONO_LAYOUT"
                                                     : "unisono_layout";
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

constexpr std::array all_hints{
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
    Known{"unisono_select", set_choice<&Options::select, selections>},
    Known{"unisono_backend", set_choice<&Options::backend, backends>},
    Known{"unisono_exchange", set_choice<&Options::exchange, exchanges>},
    Known{"unisono_intra_node_aggregation", set_switch<&Options::intra_node_aggregation>},
    Known{"unisono_two_layers", set_switch<&Options::intra_node_aggregation>},  // its old name
    Known{"unisono_resonant_read", set_second_choice<&Options::prefetch_then_read, resonant_reads>},
    Known{"unisono_resonant_groups",
          set_second_choice<&Options::as_many_groups_as_servers, resonant_groups>},
    Known{"unisono_flush", set_second_choice<&Options::flush_at_close, flushes>},
    Known{"unisono_write_behind", set_switch<&Options::write_behind>},
    Known{"unisono_write_behind_bytes", set_bytes<&Options::write_behind_bytes>},
    Known{"unisono_write_behind_s", set_count<&Options::write_behind_s>},
    Known{"unisono_read_ahead", set_switch<&Options::read_ahead>},
    Known{"unisono_overlap", set_switch<&Options::overlap>},
    Known{"unisono_pool_bytes", set_bytes<&Options::pool_bytes>},
    Known{"unisono_sync_at_close", set_boolean<&Options::sync_at_close>},
    Known{"unisono_stall", set_choice<&Options::stall, stalls>},
    Known{"unisono_stall_s", set_count<&Options::stall_s>},
    Known{"unisono_layout", set_layout<false>},
    Known{"unisono_enable", set_native_only<false>},
    Known{"unisono_faults", set_faults},
};

constexpr Known elsewhere(std::string_view name) { return {name, nullptr}; }

constexpr std::array all_variables{
    Known{"UNISONO_STRATEGY", set_strategy},
    Known{"UNISONO_SELECT", set_choice<&Options::select, selections>},
    Known{"UNISONO_BACKEND", set_choice<&Options::backend, backends>},
    Known{"UNISONO_EXCHANGE", set_choice<&Options::exchange, exchanges>},
    Known{"UNISONO_CHECK", set_choice<&Options::check, checks>},
    Known{"UNISONO_STALL", set_choice<&Options::stall, stalls>},
    Known{"UNISONO_STALL_S", set_count<&Options::stall_s>},
    Known{"UNISONO_TUNE", set_text<&Options::tune>},
    Known{"UNISONO_TUNE_SITE", set_text<&Options::tune_site>},
    Known{"UNISONO_LAYOUT", set_layout<true>},
    Known{"UNISONO_TOPOLOGY", set_topology},
    Known{"UNISONO_REPORT", set_choice<&Options::report, reports>},
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

}  // namespace

void Setting::refuse(std::string_view valid) {
    refused = true;
    say("unisono: " + std::string(subject) + ": \"" + std::string(value) +
        "\" ignored; valid: " + std::string(valid));
}

void Setting::say(std::string message) const {
    if (std::ranges::find(*messages, message) == messages->end())
        messages->push_back(std::move(message));
}

std::span<Known const> known_hints() { return all_hints; }

std::span<Known const> known_variables() { return all_variables; }

Known const* find(std::span<Known const> known, std::string_view name) {
    auto const found = std::ranges::find(known, name, &Known::name);
    return found == known.end() ? nullptr : &*found;
}

}  // namespace unisono
