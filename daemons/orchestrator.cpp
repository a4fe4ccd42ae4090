// unisono-orchestrator: asks the gate what comes, has a policy decide, and tells the gate. Prints
// "ready" when the gate has its first schedule. If it dies, the gate opens when the lease is over.
#include <fcntl.h>
#include <getopt.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "coordinate/policy.hpp"
#include "coordinate/status.hpp"
#include "pocket_gate.hpp"

namespace unisono {
namespace {

using coordinate::millisecond;
using coordinate::Time;

constexpr char const* usage =
    "usage: unisono-orchestrator MOUNTPOINT --state FILE [options]\n"
    "  --policy NAME        as 'list' lists them (default)\n"
    "  --window-ms W        1 to 5000; without it the policy's own\n"
    "  --lease-ms L         100 to 10000: so long after its death the gate is open (1000)\n"
    "  --seek-profile NAME  7200rpm, none, or a file (7200rpm)\n";

struct Options {
    std::string mountpoint;
    std::string state;
    std::string policy = "default";
    std::string seek_profile = "7200rpm";
    std::optional<Time> window;
    Time lease = 1000 * millisecond;
};

volatile std::sig_atomic_t asked_to_end = 0;

Time read_ms(std::string const& name, std::string const& text, double least, double most) {
    char* end = nullptr;
    double const ms = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(ms >= least && ms <= most))
        throw std::runtime_error("--" + name + " '" + text + "': valid is " +
                                 std::to_string(static_cast<int>(least)) + " to " +
                                 std::to_string(static_cast<int>(most)));
    return coordinate::from_ms(ms);
}

void list_policies() {
    for (auto const& policy : coordinate::policies())
        std::printf("%s\t%s\t%s\n", policy.name.data(), policy.summary.data(),
                    policy.source.data());
}

void read_option(Options& options, std::string const& name, std::string const& value) {
    if (name == "state") options.state = value;
    if (name == "policy") options.policy = value;
    if (name == "seek-profile") options.seek_profile = value;
    if (name == "window-ms") options.window = read_ms(name, value, 1, 5000);
    if (name == "lease-ms") options.lease = read_ms(name, value, 100, 10'000);
}

Options parse_options(int argc, char** argv) {
    static option const known[] = {{"state", required_argument, nullptr, 0},
                                   {"policy", required_argument, nullptr, 0},
                                   {"window-ms", required_argument, nullptr, 0},
                                   {"lease-ms", required_argument, nullptr, 0},
                                   {"seek-profile", required_argument, nullptr, 0},
                                   {nullptr, 0, nullptr, 0}};
    Options options;
    for (int index = 0;;) {
        int const result = getopt_long(argc, argv, "", known, &index);
        if (result == -1) break;
        if (result != 0) throw std::runtime_error(usage);
        read_option(options, known[index].name, optarg);
    }
    if (optind + 1 != argc) throw std::runtime_error(usage);
    options.mountpoint = argv[optind];
    if (options.mountpoint != "list" && options.state.empty()) throw std::runtime_error(usage);
    return options;
}

// One orchestrator per gate. The descriptor is kept open on purpose.
void lock_state(std::string const& state) {
    auto const path = state + ".lock";
    int const fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        throw std::runtime_error("there is an orchestrator already");
}

// Whole or not at all, for those who read it meanwhile.
void write_state(std::string const& path, std::string const& text) {
    auto const next = path + ".new";
    std::ofstream(next) << text << '\n';
    std::error_code ignored;  // then the next one tells
    std::filesystem::rename(next, path, ignored);
}

class Orchestrator {
public:
    explicit Orchestrator(Options const& options)
        : options_(options), gate_(options.mountpoint), last_(first_report()) {
        auto const* const entry = coordinate::find_policy(options.policy);
        if (entry == nullptr) throw std::runtime_error(unknown_policy());
        std::string problem;
        auto seek =
            coordinate::SeekProfile::find(options.seek_profile, last_.capacity_bytes, problem);
        if (!seek) throw std::runtime_error(problem);
        policy_ = entry->make({options.window, *seek});
        epoch_ = static_cast<std::uint64_t>(last_.epoch);
    }

    void run() {
        for (bool first = true; asked_to_end == 0; first = false) {
            decide();
            if (first) {
                std::puts("ready");
                std::fclose(stdout);
            }
            wait_for_next();
        }
        decision_.objects.clear();
        renew();
    }

private:
    coordinate::Report first_report() const {
        auto report = gate_.report();
        if (!report)
            throw std::runtime_error(options_.mountpoint +
                                     ": no gate there: " + std::strerror(errno));
        return *report;
    }

    [[nodiscard]] std::string unknown_policy() const {
        auto text = "unknown policy '" + options_.policy + "'; valid:";
        for (auto const& policy : coordinate::policies()) text.append(" ").append(policy.name);
        return text;
    }

    void decide() {
        auto const report = first_report();
        decision_ = policy_->decide(report);
        renew();
        write_state(options_.state, coordinate::show({.policy = options_.policy,
                                                      .mountpoint = options_.mountpoint,
                                                      .lease_ms = coordinate::to_ms(options_.lease),
                                                      .pid = getpid()},
                                                     decision_, report, progress(report)));
    }

    // Windows may be too short to tell how programs fare.
    coordinate::Progress const& progress(coordinate::Report const& report) {
        constexpr double period_ms = 1000;
        if (report.now_ms - last_.now_ms >= period_ms) {
            progress_ = coordinate::progress_between(last_, report);
            last_ = report;
        }
        return progress_;
    }

    void renew() {
        int const error =
            gate_.send({++epoch_, options_.lease, decision_.work_conserving, decision_.objects});
        if (error != 0)
            throw std::runtime_error("the gate refuses a schedule: " +
                                     std::string(std::strerror(error)));
    }

    // Renews the lease meanwhile.
    void wait_for_next() {
        for (Time left = decision_.window; left > 0 && asked_to_end == 0;) {
            auto const nap = std::min(left, options_.lease / 3);
            usleep(static_cast<useconds_t>(nap / 1000));
            left -= nap;
            if (left > 0) renew();
        }
    }

    Options options_;
    PocketGate gate_;
    coordinate::Report last_;
    coordinate::Progress progress_;
    std::unique_ptr<coordinate::Policy> policy_;
    coordinate::Decision decision_;
    std::uint64_t epoch_ = 0;
};

void end_when_asked() {
    struct sigaction action {};
    action.sa_handler = [](int) { asked_to_end = 1; };
    for (int const signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
}

}  // namespace
}  // namespace unisono

int main(int argc, char** argv) {
    using namespace unisono;
    try {
        auto const options = parse_options(argc, argv);
        if (options.mountpoint == "list") {
            list_policies();
            return 0;
        }
        lock_state(options.state);
        end_when_asked();
        Orchestrator(options).run();
        std::filesystem::remove(options.state);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "unisono-orchestrator: %s\n", error.what());
        return 1;
    }
    return 0;
}
