#include "options.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <sstream>

namespace bench::papers {
namespace {

std::map<std::string, Way> const ways{
    {"collective", Way::collective}, {"independent", Way::independent}, {"pieces", Way::pieces}};

std::map<std::string, Memory> const memories{{"contiguous", Memory::contiguous},
                                             {"noncontiguous", Memory::noncontiguous}};

// CLI::NonNegativeNumber names 309 digits.
std::string not_negative(std::string const& number) {
    return number.starts_with('-') ? "must not be negative" : "";
}

void add_hints(CLI::App& app, Options& options) {
    app.add_option_function<std::vector<std::string>>(
           "--hints",
           [&options](std::vector<std::string> const& hints) {
               for (auto const& hint : hints) {
                   auto const equals = hint.find('=');
                   if (equals == std::string::npos)
                       throw CLI::ValidationError("--hints", "no value in " + hint);
                   options.hints.emplace_back(hint.substr(0, equals), hint.substr(equals + 1));
               }
           },
           "MPI_Info hints for the open, K=V,K=V")
        ->delimiter(',');
}

void add_time_options(CLI::App& app, Options& options) {
    app.add_option("--seconds", options.run_seconds,
                   "Go on, from the beginning again, until so long")
        ->check(not_negative);
    app.add_option("--begin-when", options.begin_when,
                   "Make FILE.ready once all ranks are there, and begin at the time that will "
                   "stand in FILE then, in seconds since 1970");
}

void add_common_options(CLI::App& app, Options& options) {
    app.add_option("--path", options.path, "The file; it stays there")->required();
    app.add_flag("--write", options.write, "Only write");
    app.add_flag("--read", options.read, "Only read, after preparing the file")
        ->excludes("--write");
    app.add_flag("--after-write", options.after_write,
                 "Read what has just been written through the same open file, which is not timed")
        ->excludes("--write");
    app.add_flag("--warm-up", options.warm_up,
                 "Before: open the file, write and read all of it and close it once, untimed");
    app.add_flag("--prepare", options.prepare,
                 "Only prepare the file: by POSIX calls, unless it is long enough");
    app.add_option("--access", options.way,
                   "collective, independent, or pieces: an independent call for each piece")
        ->transform(CLI::CheckedTransformer(ways).description(""));
    app.add_option("--memory", options.memory,
                   "contiguous, or noncontiguous: after each of the file's pieces as many bytes "
                   "that no call touches")
        ->transform(CLI::CheckedTransformer(memories).description(""));
    app.add_flag("--barrier", options.barrier, "All processes meet after each call");
    app.add_flag("--sync", options.sync, "MPI_File_sync after the last write, within the time");
    app.add_flag("--sync-calls", options.sync_calls,
                 "MPI_File_sync after each write, within the time");
    app.add_option("--compute-seconds", options.compute_seconds, "Sleep after each call")
        ->check(not_negative);
    app.add_flag("--verify", options.verify, "Check the contents; the time then contains it");
    app.add_flag("--call-seconds", options.call_seconds, "Print each call's time as well");
    app.add_flag("--realtime", options.realtime,
                 "From open to close, go before everything else on this machine (root only)");
    add_hints(app, options);
    add_time_options(app, options);
    app.add_option("--calls", options.calls, "Go on, from the beginning again, until so many calls")
        ->check(not_negative);
}

void add_program(CLI::App& app, Program const& program, Command& command) {
    auto* const words = app.add_subcommand(std::string(program.name), std::string(program.summary));
    words->footer("After " + std::string(program.source) + ". Sizes take K, M and G.");
    for (auto const& parameter : program.parameters) {
        auto& value = command.values[parameter.name];
        std::uint64_t const least = parameter.otherwise == 0 ? 0 : 1;
        words->add_option("--" + std::string(parameter.name), value, std::string(parameter.meaning))
            ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false).description(""))
            ->check(CLI::Range(least, parameter.most).description(""))
            ->default_str(std::to_string(parameter.otherwise));
    }
    add_common_options(*words, command.options);
    // Several programs have parameters of one name: they get their defaults when one is chosen.
    words->preparse_callback([&program, &command](std::size_t) {
        command.program = &program;
        for (auto const& parameter : program.parameters)
            command.values[parameter.name] = parameter.otherwise;
    });
}

void add_alltoall(CLI::App& app, Options& options) {
    auto* const words = app.add_subcommand(
        "alltoall", "no file: processes send each other messages, as interference");
    words->footer("After Orthrus (ISC 2014), 3.6, where FT of the NAS benchmarks does it.");
    words->add_option("--message-bytes", options.message_bytes, "From each process to each other")
        ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false).description(""))
        ->default_val(256 * KiB);
    add_time_options(*words, options);
}

void print_list() {
    for (auto const* program : all_programs())
        std::cout << program->name << '\t' << program->summary << '\t' << program->source << '\n';
    std::cout << "alltoall\tno file: messages between all processes, as interference\t"
                 "Orthrus (ISC 2014), 3.6\n";
}

}  // namespace

std::optional<Command> parse(int argument_count, char** arguments, bool may_print, int& exit_code) {
    Command command;
    CLI::App app{
        "The benchmarks of the papers, written anew. Prints a line of JSON for each measurement."};
    bool list = false;
    app.add_flag("--list", list, "Name the programs");
    app.require_subcommand(0, 1);
    for (auto const* program : all_programs()) add_program(app, *program, command);
    add_alltoall(app, command.options);
    std::ostringstream said;
    try {
        app.parse(argument_count, arguments);
    } catch (CLI::ParseError const& error) {
        exit_code = app.exit(error, said, said) == 0 ? 0 : 2;
        if (may_print) (exit_code == 0 ? std::cout : std::cerr) << said.str();
        return std::nullopt;
    }
    if (!app.get_subcommands().empty()) return command;
    exit_code = 0;
    if (may_print && list) print_list();
    if (may_print && !list) std::cout << app.help();
    return std::nullopt;
}

}  // namespace bench::papers
