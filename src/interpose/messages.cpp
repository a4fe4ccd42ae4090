#include "interpose/messages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

#include "interpose/errors.hpp"
#include "support/text.hpp"

namespace unisono::interpose {

static bool standard_error = true;

bool has_standard_error() { return standard_error; }

void note_standard_error(bool process_began_with_it) {
    standard_error = process_began_with_it && fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

void print_once(std::vector<std::string> const& messages) {
    if (!has_standard_error()) return;
    static std::mutex mutex;
    static std::set<std::string> printed;
    std::lock_guard const lock{mutex};
    for (auto const& message : messages)
        if (printed.insert(message).second) std::fprintf(stderr, "%s\n", visible(message).c_str());
}

namespace {

// A folder has a file for each program.
int append_to_report_file(Options const& options, FileReport const& report,
                          std::string const& line) {
    auto const& path = options.report_file;
    if (std::error_code unknown; !std::filesystem::is_directory(path, unknown))
        return append_line(path, line);
    auto const* const kind = options.report == "json" ? ".json" : ".txt";
    return append_line_in(path, report.program.name + '.' + report.program.id + kind, line);
}

}  // namespace

void print_report(Options const& options, FileReport const& report) {
    auto line = options.report == "json" ? to_json(report) : summary_line(report);
    if (!options.report_file.empty()) {
        auto const error = append_to_report_file(options, report, line);
        if (error == 0) return;
        print_once({"unisono: the report cannot be written to " + options.report_file + ": " +
                    describe_errno(error) + "; summaries come here instead"});
        line = summary_line(report);
    }
    if (has_standard_error()) append_line({}, line);
}

}  // namespace unisono::interpose
