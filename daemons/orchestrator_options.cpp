#include "orchestrator_options.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "orchestra/command_line.hpp"
#include "orchestra/policy.hpp"

namespace unisono {

namespace {

void list_policies() {
    for (auto const& policy : orchestra::policies())
        std::printf("%s\t%s\t%s\n", policy.name.data(), policy.summary.data(),
                    policy.source.data());
}

}  // namespace

OrchestratorOptions parse_orchestrator_options(int argc, char** argv) {
    OrchestratorOptions options;
    double window_ms = 0;
    double lease_ms = orchestra::to_ms(options.lease);
    CLI::App app("Decides which programs take turns at a file system's servers.");
    app.add_option("path", options.path, "the mountpoint, or 'list' for the policies")->required();
    auto* const state = app.add_option("--state", options.state, "what it decided last");
    app.add_option("--gate", options.gate, "where requests are held")
        ->check(CLI::IsMember({"servers", "clients"}))
        ->capture_default_str();
    app.add_option("--listen", options.listen, "for node daemons: unix:PATH or tcp:HOST:PORT");
    app.add_option("--key-file", options.key_file,
                   "shared with node daemons that come by TCP, which needs one");
    app.add_option("--policy", options.policy, "as 'list' lists them")->capture_default_str();
    auto* const window = app.add_option("--window-ms", window_ms, "without it the policy's own")
                             ->check(CLI::Range(1, 5000));
    app.add_option("--lease-ms", lease_ms, "so long after its death the gate is open")
        ->check(CLI::Range(100, 10'000))
        ->capture_default_str();
    app.add_option("--seek-profile", options.seek_profile, "7200rpm, none, or a file")
        ->capture_default_str();
    orchestra::read_command_line(app, argc, argv);
    if (options.path == "list") {
        list_policies();
        std::exit(0);
    }
    if (state->count() == 0) throw std::runtime_error("--state is required");
    if (options.gate == "clients" && options.listen.empty())
        throw std::runtime_error("--gate clients needs --listen");
    if (window->count() > 0) options.window = orchestra::from_ms(window_ms);
    options.lease = orchestra::from_ms(lease_ms);
    return options;
}

}  // namespace unisono
