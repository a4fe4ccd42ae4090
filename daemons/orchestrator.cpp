// unisono-orchestrator: asks the gate what comes, has a policy decide, and tells the gate. Prints
// "ready" when the gate has its first schedule. If it dies, the gate opens when the lease is over.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "asked_to_end.hpp"
#include "clients_gate.hpp"
#include "orchestra/gate/client.hpp"
#include "orchestra/policy.hpp"
#include "orchestra/status.hpp"
#include "orchestrator_options.hpp"
#include "pocket_gate.hpp"
#include "support/descriptor.hpp"
#include "support/has_name.hpp"

namespace unisono {
namespace {

using orchestra::monotonic_now;
using orchestra::Time;

// One orchestrator per gate.
Descriptor lock_state(std::string const& state) {
    auto const path = state + ".lock";
    Descriptor lock(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (!lock) throw std::runtime_error(path + ": " + std::strerror(errno));
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
        throw std::runtime_error("there is an orchestrator already");
    return lock;
}

// Whole or not at all, for those who read it meanwhile.
void write_state(std::string const& path, std::string const& text) {
    auto const next = path + ".new";
    std::ofstream file(next);
    file << text << '\n';
    file.close();
    std::error_code ignored;  // then the next one tells
    if (file)
        std::filesystem::rename(next, path, ignored);
    else
        std::filesystem::remove(next, ignored);
}

std::unique_ptr<Gate> make_gate(OrchestratorOptions const& options) {
    if (options.gate == "servers") return std::make_unique<PocketGate>(options.path);
    auto const space = std::filesystem::space(options.path);
    auto const address = orchestra::wire::parse_address(options.listen);
    if (address.kind == orchestra::wire::Address::Kind::tcp && std::stoi(address.port) == 0)
        throw std::runtime_error(options.listen + ": choose a port: node daemons must know it");
    return std::make_unique<ClientsGate>(address, options.key_file,
                                         static_cast<double>(space.capacity));
}

class Orchestrator {
public:
    Orchestrator(OrchestratorOptions const& options, Descriptor const& lock)
        : options_(options), lock_(lock), gate_(make_gate(options)), last_(first_report()) {
        auto const* const entry = orchestra::find_policy(options.policy);
        if (entry == nullptr) throw std::runtime_error(unknown_policy());
        std::string problem;
        auto seek =
            orchestra::SeekProfile::find(options.seek_profile, last_.capacity_bytes, problem);
        if (!seek) throw std::runtime_error(problem);
        policy_ = entry->make({options.window, *seek});
        epoch_ = static_cast<std::uint64_t>(last_.epoch);
    }

    // Until it is asked to end, or its folder was taken away: nobody finds it any more then, and
    // there may be another one.
    void run() {
        for (bool first = true; asked_to_end == 0 && has_name(lock_.get()); first = false) {
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
    orchestra::Report first_report() {
        auto report = gate_->report();
        if (!report)
            throw std::runtime_error(options_.path + ": no gate there: " + std::strerror(errno));
        return *report;
    }

    [[nodiscard]] std::string unknown_policy() const {
        auto text = "unknown policy '" + options_.policy + "'; valid:";
        for (auto const& policy : orchestra::policies()) text.append(" ").append(policy.name);
        return text;
    }

    void decide() {
        report_ = first_report();
        decision_ = policy_->decide(report_);
        decision_.objects = orchestra::acceptable(schedule()).objects;
        renew();
        show_state();
    }

    void show_state() {
        orchestra::Status status{.policy = options_.policy,
                                 .mountpoint = options_.path,
                                 .lease_ms = orchestra::to_ms(options_.lease),
                                 .pid = getpid()};
        gate_->describe(status);
        write_state(options_.state, orchestra::show(status, decision_, report_, progress(report_)));
    }

    // Windows may be too short to tell how programs fare.
    orchestra::Progress const& progress(orchestra::Report const& report) {
        constexpr double period_ms = 1000;
        if (report.now_ms - last_.now_ms >= period_ms) {
            progress_ = orchestra::progress_between(last_, report);
            last_ = report;
        }
        return progress_;
    }

    [[nodiscard]] orchestra::Schedule schedule() const {
        return {epoch_, options_.lease, decision_.work_conserving, decision_.objects};
    }

    void renew() {
        ++epoch_;
        int const error = gate_->send(schedule());
        if (error != 0)
            throw std::runtime_error("the gate refuses a schedule: " +
                                     std::string(std::strerror(error)));
    }

    // Renews the lease meanwhile, and says which nodes come and go.
    void wait_for_next() {
        auto const end = monotonic_now() + decision_.window;
        auto renewal = monotonic_now() + options_.lease / 3;
        while (asked_to_end == 0) {
            gate_->wait(std::max(std::min(end, renewal) - monotonic_now(), Time{0}));
            auto const now = monotonic_now();
            if (now >= end) return;
            if (now >= renewal) {
                renew();
                renewal = now + options_.lease / 3;
            }
            show_state();
        }
    }

    OrchestratorOptions options_;
    Descriptor const& lock_;
    std::unique_ptr<Gate> gate_;
    orchestra::Report report_;
    orchestra::Report last_;
    orchestra::Progress progress_;
    std::unique_ptr<orchestra::Policy> policy_;
    orchestra::Decision decision_;
    std::uint64_t epoch_ = 0;
};

}  // namespace
}  // namespace unisono

int main(int argc, char** argv) {
    using namespace unisono;
    try {
        auto const options = parse_orchestrator_options(argc, argv);
        auto const lock = lock_state(options.state);
        end_when_asked();
        Orchestrator(options, lock).run();
        if (has_name(lock.get())) std::filesystem::remove(options.state);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "unisono-orchestrator: %s\n", error.what());
        return 1;
    }
    return 0;
}
