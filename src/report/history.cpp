#include "report/history.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <initializer_list>

#include "report/report.hpp"
#include "support/text.hpp"

namespace unisono {
namespace {

constexpr std::size_t runs_needed = 5;
constexpr double of_the_median = 1.5;
constexpr double of_the_upper = 1.25;

double median(std::vector<double> const& values) {
    auto const middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// What the earlier runs took, for as many bytes, in ascending order.
std::vector<double> scaled(FileHistory const& history, PastRun const& now,
                           double PastRun::*seconds) {
    std::vector<double> all;
    for (auto const& run : history.runs)
        if (run.id != now.id && run.bytes > 0)
            all.push_back(run.*seconds * static_cast<double>(now.bytes) /
                          static_cast<double>(run.bytes));
    std::ranges::sort(all);
    return all;
}

std::string because(double share_of_storage) {
    constexpr double most_of_it = 0.75;
    if (share_of_storage >= most_of_it) return ": the file system, not the program";
    return share_of_storage <= 1 - most_of_it ? ": not the file system" : "";
}

// Of both directions, on the slowest rank of each.
double seconds_of(FileReport const& report, std::initializer_list<Phase> phases) {
    double seconds = 0;
    for (auto const* const direction : {&report.read, &report.write})
        for (auto const phase : phases) seconds += direction->seconds[phase].longest_s;
    return seconds;
}

// How long the MPI library's calls wait for ranks, and for what else, nobody knows.
bool is_understood(double native_s, double whole_s) {
    constexpr double native_most = 0.1;
    return native_s <= native_most * whole_s;
}

// What goes on beside the program is waited for at close, or was over by then: by chance.
bool is_blocking(DirectionReport const& report) {
    return report.beside_time.longest_s <= 0 && report.busy_s();
}

std::uint32_t class_of(std::uint64_t bytes) {
    return static_cast<std::uint32_t>(std::bit_width(bytes));
}

}  // namespace

void FileHistory::take_in(PastRun const& run) {
    auto const known = std::ranges::find(runs, run.id, &PastRun::id);
    if (known != runs.end())
        *known = run;
    else
        runs.push_back(run);
    if (runs.size() > runs_most) runs.erase(runs.begin(), runs.end() - runs_most);
}

Slowdown slowdown(FileHistory const& history, PastRun const& now) {
    auto const earlier = scaled(history, now, &PastRun::seconds);
    if (earlier.size() < runs_needed) return {};
    auto const usual = median(earlier);
    auto const upper = earlier[earlier.size() - 1 - earlier.size() / 5];
    if (now.seconds < of_the_median * usual || now.seconds < of_the_upper * upper) return {};
    auto const usual_storage = median(scaled(history, now, &PastRun::storage_seconds));
    auto const share = (now.storage_seconds - usual_storage) / (now.seconds - usual);
    return {.runs = static_cast<std::uint32_t>(earlier.size()),
            .seconds = now.seconds,
            .median_s = usual,
            .upper_s = upper,
            .share_of_storage = std::clamp(share, 0.0, 1.0)};
}

std::string describe(Slowdown const& slowdown) {
    if (slowdown.runs == 0) return {};
    return print("%.1f times as slow as in the last ", slowdown.seconds / slowdown.median_s) +
           counted(slowdown.runs, "run") + " (" + human_seconds(slowdown.seconds) + "; usually " +
           human_seconds(slowdown.median_s) + ", up to " + human_seconds(slowdown.upper_s) + ")" +
           because(slowdown.share_of_storage);
}

std::string files_of(std::string const& path) {
    constexpr std::size_t length_most = 200;
    std::string name;
    for (char const letter : path.substr(path.rfind('/') + 1)) {
        auto const digit = std::isdigit(static_cast<unsigned char>(letter)) != 0;
        if (!digit)
            name += letter;
        else if (!name.ends_with('#'))
            name += '#';
    }
    return name.substr(0, length_most);
}

FileKind kind_of(FileReport const& report, std::string storage, std::string machine) {
    return {.program = report.program.name,
            .files = files_of(report.file),
            .storage = std::move(storage),
            .machine = std::move(machine),
            .ranks = report.ranks,
            .nodes = report.nodes,
            .written_class = class_of(report.write.asked_bytes),
            .read_class = class_of(report.read.asked_bytes)};
}

PastRun run_of(FileReport const& report) {
    if (!is_blocking(report.read) || !is_blocking(report.write)) return {};
    auto const native_s = seconds_of(report, {Phase::native});
    // All ranks leave a sync or close when the slowest has done it: whoever came last did not wait.
    auto const file_s = report.seconds[FilePhase::sync].shortest_s +
                        report.seconds[FilePhase::close].shortest_s +
                        seconds_of(report, {Phase::file});
    auto const whole_s =
        native_s + file_s + seconds_of(report, {Phase::exchange, Phase::copying, Phase::other});
    if (!is_understood(native_s, whole_s)) return {};
    // Waiting for the program's turn is not the file system's fault.
    return {.bytes = report.write.asked_bytes + report.read.asked_bytes,
            .seconds = whole_s,
            .storage_seconds = std::max(0.0, file_s - report.gate.waited.longest_s)};
}

}  // namespace unisono
