#include "options/options.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "options/fault_text.hpp"

namespace unisono {
namespace {

using Hints = std::vector<KeyValue>;

constexpr std::array<Choice, 2> strategies{{
    {"two_phase", "contiguous realms"},
    {"native", "the MPI library's own"},
}};

/// A made-up machine: variables and files.
struct World {
    std::map<std::string, std::string> variables;
    std::map<std::string, std::string> files;
    std::string unreadable;
    std::string program = "program";

    [[nodiscard]] OptionSources sources() const {
        return {{.variable = [this](char const* name) -> char const* {
                     auto const found = variables.find(name);
                     return found == variables.end() ? nullptr : found->second.c_str();
                 },
                 .content = [this](std::string const& path) -> std::optional<std::string> {
                     auto const found = files.find(path);
                     if (found == files.end()) return std::nullopt;
                     return found->second;
                 },
                 .names =
                     [this](std::string_view prefix) {
                         std::vector<std::string> names;
                         for (auto const& [name, value] : variables)
                             if (name.starts_with(prefix)) names.push_back(name);
                         return names;
                     },
                 .is_there = [this](std::string const& path) { return path == unreadable; },
                 .program = [this] { return program; }},
                strategies};
    }
    struct Opened {
        Options options;
        std::vector<std::string> messages;
    };
    [[nodiscard]] Opened open(std::string_view path, Hints const& info = {}) const {
        auto const chosen = sources().options_for(path, info);
        return {*chosen.options, chosen.messages};
    }
};

TEST(Options, are_the_defaults_where_nothing_is_said) {
    auto const chosen = World{}.open("/data/x");
    EXPECT_EQ(chosen.options, Options{});
    EXPECT_TRUE(chosen.messages.empty());
}

TEST(Options, files_share_those_that_no_hint_is_about) {
    World world;
    world.variables = {{"UNISONO_HINTS", "*.h5:cb_nodes=7"}, {"UNISONO_BACKEND", "posix"}};
    auto const sources = world.sources();
    auto const first = sources.options_for("/d/step1", {}).options;
    EXPECT_EQ(first->backend, "posix");
    EXPECT_EQ(first->cb_nodes, 0u);
    EXPECT_EQ(sources.options_for("/d/step2", {}).options, first);  // one object
    EXPECT_EQ(sources.options_for("/d/a.h5", {}).options->cb_nodes, 7u);
    EXPECT_EQ(sources.options_for("/d/step3", Hints{{"cb_nodes", "2"}}).options->cb_nodes, 2u);
    EXPECT_EQ(first->cb_nodes, 0u);
}

TEST(Options, stronger_sources_override_weaker_ones) {
    World world;
    std::vector<std::uint32_t> seen;
    Hints info;
    auto const look = [&] { seen.push_back(world.open("/data/x", info).options.cb_nodes); };

    world.variables["UNISONO_SITE_FILE"] = "site";
    world.files["site"] = "/data/*:cb_nodes=1\n";
    look();
    world.variables["ROMIO_HINTS"] = "romio";
    world.files["romio"] = "cb_nodes 2\n";
    look();
    world.variables["UNISONO_HINTS"] = "mine";
    world.files["mine"] = "x:cb_nodes=3\n*:cb_nodes=99\n";
    look();
    info = {{"cb_nodes", "4"}};
    look();
    world.variables["MPICH_MPIIO_HINTS"] = "/data/*:cb_nodes=5";
    look();
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{1, 2, 3, 4, 5}));
}

TEST(Options, variables_are_the_last_word) {
    World world;
    world.variables = {
        {"UNISONO_STRATEGY", "native"},       {"UNISONO_BACKEND", "posix"},
        {"UNISONO_EXCHANGE", "messages"},     {"UNISONO_TOPOLOGY", "nodes=3,fragments"},
        {"UNISONO_REPORT", "json"},           {"UNISONO_CHECK", "communicate"},
        {"UNISONO_REPORT_FILE", "r.json"},    {"UNISONO_REPORT_TRACES", "/t"},
        {"UNISONO_FAULTS", "write@4096=EIO"}, {"UNISONO_LAYOUT", "stripe_bytes=64K,servers=4"},
        {"UNISONO_REPORT_TIMELINE", "true"},  {"UNISONO_REPORT_CALLS", "true"}};
    auto const chosen = world.open("x", {{"unisono_strategy", "two_phase"},
                                         {"unisono_backend", "mapped"},
                                         {"unisono_exchange", "shared_memory"},
                                         {"unisono_layout", "stripe_bytes=1M,servers=2"}});
    EXPECT_TRUE(chosen.messages.empty());
    EXPECT_EQ(chosen.options.strategy, "native");
    EXPECT_EQ(chosen.options.backend, "posix");
    EXPECT_EQ(chosen.options.exchange, "messages");
    EXPECT_EQ(chosen.options.pretended_nodes, 3u);
    EXPECT_TRUE(chosen.options.pretended_fragments);
    EXPECT_EQ(chosen.options.report, "json");
    EXPECT_EQ(chosen.options.check, "communicate");
    EXPECT_EQ(chosen.options.report_file, "r.json");
    EXPECT_EQ(chosen.options.report_traces, "/t");
    EXPECT_TRUE(chosen.options.report_timeline);
    EXPECT_TRUE(chosen.options.report_calls);
    EXPECT_EQ(chosen.options.faults, "write@4096=EIO");
    EXPECT_EQ(chosen.options.layout, "stripe_bytes=64K,servers=4");
}

// It said nothing, and nothing came.
TEST(Options, a_report_file_alone_gets_reports) {
    World world;
    EXPECT_EQ(world.open("x").options.report, "none");
    world.variables["UNISONO_REPORT_FILE"] = "r.json";
    EXPECT_EQ(world.open("x").options.report, "json");
    world.variables["UNISONO_REPORT"] = "none";
    EXPECT_EQ(world.open("x").options.report, "none");
}

// A layout that a hint gave was reported as that of a variable that nobody had set.
TEST(Options, a_layout_is_named_as_it_was_given) {
    World world;
    Hints const hints{{"unisono_layout", "stripe_bytes=64K,servers=4"}};
    EXPECT_EQ(world.open("x", hints).options.layout_named, "unisono_layout");
    world.variables["UNISONO_LAYOUT"] = "stripe_bytes=1M,servers=2";
    EXPECT_EQ(world.open("x", hints).options.layout_named, "UNISONO_LAYOUT");
}

// A value that is refused, or is the default anyway, explains nothing.
TEST(Options, say_where_each_setting_came_from) {
    World world;
    world.variables = {{"UNISONO_SITE_FILE", "site"},
                       {"UNISONO_STRATEGY", "native"},
                       {"UNISONO_BACKEND", "auto"},
                       {"UNISONO_REPORT", "json"},
                       {"UNISONO_REPORT_FILE", "r.json"}};
    world.files["site"] = "/data/*:cb_nodes=1\n";
    auto const chosen = world.open("/data/x", {{"cb_nodes", "4"}, {"cb_buffer_size", "huge"}});
    EXPECT_EQ(chosen.options.settings,
              (std::vector<std::string>{"cb_nodes=1 (site)", "cb_nodes=4 (MPI_Info)",
                                        "UNISONO_STRATEGY=native"}));
}

TEST(Options, know_the_names_of_all_implementations) {
    auto const options = World{}
                             .open("x", {{"cb_buffer_size", "32M"},
                                         {"cb_config_list", "*:2"},
                                         {"romio_ds_read", "disable"},
                                         {"romio_ds_write", "enable"},
                                         {"stripe_size", "1M"},
                                         {"stripe_width", "12"},
                                         {"collective_buffering", "true"},
                                         {"romio_cb_read", "disable"}})
                             .options;
    EXPECT_EQ(options.cb_buffer_size, 32u << 20);
    EXPECT_EQ(options.cb_config_list, "*:2");
    EXPECT_EQ(options.ds_read, Switch::disable);
    EXPECT_EQ(options.ds_write, Switch::enable);
    EXPECT_EQ(options.striping_unit, 1u << 20);
    EXPECT_EQ(options.striping_factor, 12u);
    EXPECT_EQ(options.cb_write, Switch::enable);
    EXPECT_EQ(options.cb_read, Switch::disable);
}

// ROMIO's own test hands it back: the file's default.
TEST(Hints, of_stripes_that_are_nought_are_not_complained_of) {
    World world;
    auto const chosen = world.open("x", {{"striping_factor", "0"},
                                         {"striping_unit", "0"},
                                         {"stripe_width", "0"},
                                         {"stripe_size", "0"}});
    EXPECT_TRUE(chosen.messages.empty());
    EXPECT_EQ(chosen.options.striping_factor, 0u);
    EXPECT_EQ(chosen.options.striping_unit, 0u);
}

TEST(Options, special_hint_wins_over_general_one_in_any_order) {
    auto const options =
        World{}
            .open("x", {{"romio_cb_write", "disable"}, {"collective_buffering", "true"}})
            .options;
    EXPECT_EQ(options.cb_write, Switch::disable);
    EXPECT_EQ(options.cb_read, Switch::enable);
}

TEST(Options, no_independent_access_means_collective_buffering_as_in_romio) {
    World world;
    world.variables["ROMIO_HINTS"] = "romio";
    world.files["romio"] = "romio_no_indep_rw true\n";
    auto const options = world.open("x", {{"romio_cb_read", "disable"}}).options;
    EXPECT_TRUE(options.no_indep_rw);
    EXPECT_EQ(options.cb_read, Switch::enable);
    EXPECT_EQ(options.cb_write, Switch::enable);
}

TEST(Options, romio_hints_of_the_system_count_where_those_of_the_user_cannot_be_read) {
    World world;
    world.variables["ROMIO_HINTS"] = "missing";
    world.files["/etc/romio-hints"] = "cb_nodes 3\n";
    EXPECT_EQ(world.open("x").options.cb_nodes, 3u);
}

TEST(Options, a_bad_value_names_the_valid_ones_and_changes_nothing) {
    World world;
    world.variables["UNISONO_STRATEGY"] = "fastest";
    auto const chosen = world.open("x", {{"unisono_strategy", "native"}, {"cb_nodes", "many"}});
    EXPECT_EQ(chosen.options.strategy, "native");
    EXPECT_EQ(chosen.options.cb_nodes, 0u);
    ASSERT_EQ(chosen.messages.size(), 2u);
    EXPECT_EQ(
        chosen.messages[0],
        "unisono: hint cb_nodes (MPI_Info): \"many\" ignored; valid: a whole number from 1 to "
        "4294967295");
    EXPECT_EQ(chosen.messages[1],
              "unisono: UNISONO_STRATEGY: \"fastest\" ignored; valid: auto, orthrus, two_phase, "
              "native");
}

TEST(Options, unknown_hints_of_ours_are_named_and_others_are_not) {
    auto const chosen = World{}.open("x", {{"unisono_stratgey", "native"}, {"access_style", "x"}});
    ASSERT_EQ(chosen.messages.size(), 1u);
    EXPECT_NE(chosen.messages[0].find("\"unisono_stratgey\""), std::string::npos);
    EXPECT_NE(chosen.messages[0].find("unisono_strategy, unisono_select, unisono_backend"),
              std::string::npos);
}

TEST(Options, an_empty_variable_counts_as_not_set_whatever_its_name) {
    World world;
    world.variables = {{"UNISONO_STRATGEY", ""}, {"UNISONO_STRATEGY", " "}};
    EXPECT_TRUE(world.open("x").messages.empty());
}

TEST(Options, a_misspelt_variable_is_named_with_the_one_that_was_meant) {
    World world;
    world.variables = {{"UNISONO_STRATGEY", "native"}, {"UNISONO_HINT", "*:cb_nodes=1"}};
    auto const messages = world.open("x").messages;
    EXPECT_EQ(messages, (std::vector<std::string>{
                            "unisono: unknown variable UNISONO_HINT: did you mean UNISONO_HINTS?",
                            "unisono: unknown variable UNISONO_STRATGEY: did you mean "
                            "UNISONO_STRATEGY?"}));
}

TEST(Options, a_variable_with_a_hints_name_is_told_where_hints_go) {
    World world;
    world.variables = {{"UNISONO_CB_NODES", "4"}, {"UNISONO_POOL_BYTES", "1M"}};
    auto const messages = world.open("x").messages;
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_TRUE(messages[0].ends_with("UNISONO_HINTS='*:cb_nodes=...'")) << messages[0];
    EXPECT_TRUE(messages[1].ends_with("UNISONO_HINTS='*:unisono_pool_bytes=...'")) << messages[1];
}

TEST(Options, variables_that_only_others_read_are_known_and_those_of_others_are_not_ours) {
    World world;
    world.variables = {{"UNISONO_TEST_SEED", "1"},
                       {"UNISONO_TIMING_LOCK", "x"},
                       {"UNISONO_RUNTIME", "/r"},
                       {"UNISON_STRATEGY", "x"},
                       {"OMP_NUM_THREADS", "4"}};
    EXPECT_EQ(world.open("x").messages, std::vector<std::string>{});
}

TEST(Options, help_lists_the_strategies_with_their_summaries) {
    World world;
    world.variables["UNISONO_STRATEGY"] = "help";
    auto const chosen = world.open("x");
    EXPECT_EQ(chosen.options.strategy, "auto");
    ASSERT_EQ(chosen.messages.size(), 1u);
    EXPECT_EQ(chosen.messages[0],
              "unisono: values of UNISONO_STRATEGY:\n"
              "  auto       Unisono chooses\n"
              "  orthrus    the same as auto with unisono_select=orthrus\n"
              "  two_phase  contiguous realms\n"
              "  native     the MPI library's own");
}

TEST(Options, site_can_leave_paths_alone_and_a_program_can_insist) {
    World world;
    world.variables["UNISONO_SITE_FILE"] = "site";
    world.files["site"] = "leave_alone /home/*\n";
    EXPECT_TRUE(world.open("/home/me/x").options.native_only);
    EXPECT_EQ(world.open("/home/me/x").options.left_alone_by, "a line leave_alone of site");
    EXPECT_FALSE(world.open("/scratch/x").options.native_only);
    EXPECT_FALSE(world.open("/home/me/x", {{"unisono_enable", "true"}}).options.native_only);
    world.variables["UNISONO_DISABLE"] = "1";
    EXPECT_TRUE(world.open("/scratch/x", {{"unisono_enable", "true"}}).options.native_only);
}

TEST(Options, site_can_leave_programs_alone_and_a_user_can_insist) {
    World world;
    world.variables["UNISONO_SITE_FILE"] = "site";
    world.files["site"] = "leave_alone_program solver*\nleave_alone_program other\n";
    EXPECT_FALSE(world.open("/scratch/x").options.native_only);
    world.program = "solver.mpich";
    EXPECT_TRUE(world.open("/scratch/x").options.native_only);
    EXPECT_EQ(world.open("x").options.left_alone_by, "a line leave_alone_program of site");
    world.variables["UNISONO_DISABLE"] = "0";
    EXPECT_FALSE(world.open("/scratch/x").options.native_only);
}

TEST(Options, a_site_file_that_its_users_may_not_read_went_without_a_word) {
    World world;
    EXPECT_TRUE(world.open("x").messages.empty());  // there is none
    world.unreadable = OptionSources::default_site_file();
    EXPECT_EQ(world.open("x").messages,
              std::vector{"unisono: " + world.unreadable + " cannot be read; ignored"});
}

TEST(Options, hints_can_be_given_inline) {
    World world;
    world.variables["UNISONO_HINTS"] = "*.h5:cb_nodes=7,*.nc:cb_nodes=9";
    EXPECT_EQ(world.open("/d/a.h5").options.cb_nodes, 7u);
    EXPECT_EQ(world.open("/d/a.nc").options.cb_nodes, 9u);
    EXPECT_EQ(world.open("/d/a").options.cb_nodes, 0u);
}

TEST(Options, a_file_that_is_missing_is_named_with_its_variable) {
    World world;
    world.variables["UNISONO_HINTS"] = "/no/such/file";
    world.variables["UNISONO_SITE_FILE"] = "/none";
    EXPECT_EQ(world.open("x").messages,
              (std::vector<std::string>{
                  "unisono: UNISONO_SITE_FILE: /none cannot be read; ignored",
                  "unisono: UNISONO_HINTS: /no/such/file cannot be read; ignored"}));
}

TEST(Options, pass_foreign_hints_on_but_not_over_the_programs_own) {
    World world;
    world.variables["UNISONO_HINTS"] = "*:striping_factor=8:direct_io=true:unisono_backend=posix";
    world.variables["MPICH_MPIIO_HINTS"] = "*:cb_nodes=2";
    auto const options = world.open("x", {{"striping_factor", "4"}, {"cb_nodes", "1"}}).options;
    EXPECT_EQ(options.native_hints, (Hints{{"direct_io", "true"}, {"cb_nodes", "2"}}));
    EXPECT_EQ(options.striping_factor, 4u);
}

TEST(Options, a_refused_value_reaches_the_mpi_librarys_open_from_no_source) {
    World world;
    world.variables = {{"UNISONO_SITE_FILE", "site"},
                       {"ROMIO_HINTS", "romio"},
                       {"UNISONO_HINTS", "*:cb_nodes=many:romio_ds_read=perhaps"},
                       {"MPICH_MPIIO_HINTS", "*:cb_buffer_size=-5:striping_unit=-1"}};
    world.files["site"] = "*:cb_buffer_size=-5:cb_nodes=3:direct_io=true\n";
    world.files["romio"] = "romio_cb_write maybe\n";
    auto const chosen = world.open("x");
    EXPECT_EQ(chosen.options.native_hints, (Hints{{"cb_nodes", "3"}, {"direct_io", "true"}}));
    EXPECT_EQ(chosen.messages.size(), 6u);
    EXPECT_EQ(chosen.messages[0],
              "unisono: hint cb_buffer_size (site): \"-5\" ignored; valid: a positive whole "
              "number of bytes, such as 16777216 or 16M");
}

TEST(Options, numbers_of_bytes_reach_the_mpi_librarys_open_in_digits) {
    World world;
    world.variables = {{"UNISONO_HINTS", "*:cb_buffer_size=32M:striping_unit=1M:cb_nodes=2"},
                       {"MPICH_MPIIO_HINTS", "*:cb_buffer_size=64M"}};
    EXPECT_EQ(
        world.open("x").options.native_hints,
        (Hints{{"cb_buffer_size", "67108864"}, {"striping_unit", "1048576"}, {"cb_nodes", "2"}}));
}

TEST(Options, the_programs_own_hint_is_not_replaced_where_another_is_refused) {
    World world;
    world.variables["MPICH_MPIIO_HINTS"] = "*:cb_nodes=many";
    EXPECT_EQ(world.open("x", {{"cb_nodes", "-1"}}).options.native_hints, Hints{});
}

TEST(Options, layouts_and_faults_that_cannot_be_read_are_named_and_not_used) {
    World world;
    world.variables = {{"UNISONO_LAYOUT", "bogus"}, {"UNISONO_FAULTS", "x"}};
    auto const chosen =
        world.open("x", {{"unisono_layout", "servers=4"}, {"unisono_faults", "write"}});
    EXPECT_EQ(chosen.options, Options{});
    std::string const faults = std::string{" ignored; valid: "}.append(valid_faults);
    std::string const layout = " ignored; valid: stripe_bytes=64K,servers=4 and the like ";
    EXPECT_EQ(chosen.messages,
              (std::vector<std::string>{
                  "unisono: hint unisono_layout (MPI_Info): \"servers=4\"" + layout +
                      "(stripe_bytes is missing)",
                  "unisono: hint unisono_faults (MPI_Info): \"write\"" + faults,
                  "unisono: UNISONO_LAYOUT: \"bogus\"" + layout +
                      "(unknown key \"bogus\"; valid: stripe_bytes, servers, first, end)",
                  "unisono: UNISONO_FAULTS: \"x\"" + faults}));
}

TEST(Options, words_that_are_no_boolean_are_named_also_where_others_obey_the_variable) {
    World world;
    world.variables = {{"UNISONO_PRELOAD_CHILDREN", "never"}, {"UNISONO_DISABLE", "maybe"}};
    auto const chosen = world.open("x");
    EXPECT_FALSE(chosen.options.native_only);
    EXPECT_EQ(chosen.messages,
              (std::vector<std::string>{
                  "unisono: UNISONO_DISABLE: \"maybe\" ignored; valid: true, false",
                  "unisono: UNISONO_PRELOAD_CHILDREN: \"never\" ignored; valid: true, false"}));
    world.variables = {{"UNISONO_PRELOAD_CHILDREN", "No"}, {"UNISONO_DISABLE", "no"}};
    EXPECT_EQ(world.open("x").messages, std::vector<std::string>{});
}

TEST(Options, what_cannot_be_read_in_variables_of_other_products_is_named) {
    World world;
    world.variables = {{"MPICH_MPIIO_HINTS", "garbage"}, {"ROMIO_HINTS", "/nonexist"}};
    EXPECT_EQ(world.open("x").messages,
              (std::vector<std::string>{
                  "unisono: ROMIO_HINTS: /nonexist cannot be read; ignored",
                  "unisono: MPICH_MPIIO_HINTS: cannot read \"garbage\"; ignored; valid: "
                  "glob:key=value:key=value"}));
    world.variables = {{"ROMIO_HINTS", "romio"}};
    world.files["romio"] = "zzz\ncb_nodes zero\n";
    EXPECT_EQ(world.open("x").messages,
              (std::vector<std::string>{
                  "unisono: ROMIO_HINTS line 1: cannot read \"zzz\"; ignored; valid: key value",
                  "unisono: hint cb_nodes (ROMIO_HINTS): \"zero\" ignored; valid: a whole "
                  "number from 1 to 4294967295"}));
}

TEST(Options, mistakes_for_some_files_are_found_before_one_of_them_is_opened) {
    World world;
    world.variables["UNISONO_HINTS"] = "/data/*:cb_nodes=many,*:cb_nodes=2";
    EXPECT_EQ(world.open("x").messages, std::vector<std::string>{});
    EXPECT_EQ(world.sources().complaints(),
              std::vector<std::string>{"unisono: hint cb_nodes (UNISONO_HINTS): \"many\" ignored; "
                                       "valid: a whole number from 1 to 4294967295"});
}

TEST(Options, a_positive_number_that_is_not_valid_is_not_told_to_be_positive) {
    for (auto const* number : {"0.5", "4294967296"}) {
        World world;
        world.variables["UNISONO_STALL_S"] = number;
        EXPECT_EQ(world.open("x").messages,
                  std::vector<std::string>{"unisono: UNISONO_STALL_S: \"" + std::string{number} +
                                           "\" ignored; valid: a whole number from 1 to "
                                           "4294967295"});
    }
}

TEST(Options, mistakes_for_all_files_are_named_once) {
    World world;
    world.variables["UNISONO_HINTS"] = "*:cb_nodes=many";
    EXPECT_EQ(world.sources().complaints().size(), 1u);
}

TEST(EffectiveHints, say_what_is_in_force) {
    Options options;
    options.strategy = "two_phase";
    options.cb_buffer_size = 16777216;
    options.cb_write = Switch::enable;
    auto const hints = effective_hints(options);
    std::map<std::string, std::string> const by_key(hints.begin(), hints.end());
    EXPECT_EQ(by_key.at("cb_buffer_size"), "16777216");
    EXPECT_EQ(by_key.at("romio_cb_write"), "enable");
    EXPECT_EQ(by_key.at("romio_cb_read"), "automatic");
    EXPECT_EQ(by_key.at("unisono_strategy"), "two_phase");
    EXPECT_FALSE(by_key.contains("cb_nodes"));
}

TEST(EffectiveHints, read_back_as_the_same_options) {
    Options options;
    options.strategy = "native";
    options.cb_nodes = 3;
    options.cb_config_list = "*:2";
    options.ds_write = Switch::disable;
    options.cb_read = options.cb_write = Switch::enable;
    options.no_indep_rw = true;
    options.native_only = true;
    options.left_alone_by = "hint unisono_enable (MPI_Info): false";
    options.select = "measured";
    options.intra_node_aggregation = Switch::enable;
    options.prefetch_then_read = true;
    options.as_many_groups_as_servers = true;
    options.flush_at_close = true;
    options.write_behind = options.read_ahead = Switch::enable;
    options.write_behind_bytes = 3 << 20;
    options.write_behind_s = 9;
    options.sync_at_close = true;
    options.pool_bytes = 1 << 20;
    options.stall = "abort";
    options.stall_s = 7;
    options.layout = "end=1M,stripe_bytes=64K,servers=1;stripe_bytes=1M,servers=4";
    options.layout_named = "unisono_layout";
    auto read_back = World{}.open("x", effective_hints(options)).options;
    read_back.settings.clear();
    EXPECT_EQ(read_back, options);
}

TEST(Options, the_papers_selection_has_a_name_of_its_own) {
    World world;
    world.variables["UNISONO_STRATEGY"] = "orthrus";
    auto const chosen = world.open("x", {});
    EXPECT_EQ(chosen.options.strategy, "auto");
    EXPECT_EQ(chosen.options.select, "orthrus");
    EXPECT_TRUE(chosen.messages.empty());
}

TEST(OptionsBytes, survive_the_journey) {
    World world;
    world.variables["UNISONO_TUNE"] = "/scratch/tune.json";
    world.variables["UNISONO_TUNE_SITE"] = "off";
    world.variables["UNISONO_HINTS"] = "*:striping_factor=8:direct_io=true:cb_config_list=*:4";
    world.variables["UNISONO_LAYOUT"] = "stripe_bytes=64K,servers=4";
    world.variables["UNISONO_REPORT"] = "json";
    world.variables["UNISONO_CHECK"] = "communicate";
    world.variables["UNISONO_STALL"] = "none";
    world.variables["UNISONO_STALL_S"] = "60";
    world.variables["UNISONO_ALLOW_LONE_RANKS"] = "true";
    auto const options = world.open("x", {{"cb_buffer_size", "5G"}}).options;
    EXPECT_EQ(options_from_bytes(to_bytes(options)), options);
}

TEST(OptionsBytes, refuse_what_was_cut_off) {
    auto const bytes = to_bytes(Options{});
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(options_from_bytes(std::span(bytes).first(size))) << size;
    }
}

}  // namespace
}  // namespace unisono
