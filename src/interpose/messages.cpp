#include "interpose/messages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <set>

#include "interpose/errors.hpp"
#include "support/text.hpp"

namespace unisono::interpose {

bool has_standard_error() {
    static bool const there = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    return there;
}

void print_once(std::vector<std::string> const& messages) {
    if (!has_standard_error()) return;
    static std::mutex mutex;
    static std::set<std::string> printed;
    std::lock_guard const lock{mutex};
    for (auto const& message : messages)
        if (printed.insert(message).second) std::fprintf(stderr, "%s\n", visible(message).c_str());
}

void print_report(Options const& options, FileReport const& report) {
    auto const line = options.report == "json" ? to_json(report) : summary_line(report);
    auto const& path = options.report_file;
    if (!path.empty()) {
        auto const error = append_line(path, line);
        if (error == 0) return;
        print_once({"unisono: the report cannot be written to " + path + ": " +
                    describe_errno(error) + "; it comes here instead"});
    }
    if (has_standard_error()) append_line({}, line);
}

}  // namespace unisono::interpose
