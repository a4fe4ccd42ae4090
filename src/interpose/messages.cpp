#include "interpose/messages.hpp"

#include <cstdio>
#include <mutex>
#include <set>

#include "interpose/errors.hpp"
#include "support/text.hpp"

namespace unisono::interpose {

void print_once(std::vector<std::string> const& messages) {
    static std::mutex mutex;
    static std::set<std::string> printed;
    std::lock_guard const lock{mutex};
    for (auto const& message : messages)
        if (printed.insert(message).second) std::fprintf(stderr, "%s\n", visible(message).c_str());
}

void print_report(Options const& options, FileReport const& report) {
    auto const line = options.report == "json" ? to_json(report) : summary_line(report);
    auto const& path = options.report_file;
    auto const error = append_line(path, line);
    if (error == 0 || path.empty()) return;
    print_once({"unisono: the report cannot be written to " + path + ": " + describe_errno(error) +
                "; it comes here instead"});
    append_line({}, line);
}

}  // namespace unisono::interpose
