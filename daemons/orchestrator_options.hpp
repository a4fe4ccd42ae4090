#pragma once

#include <optional>
#include <string>

#include "orchestra/time.hpp"

namespace unisono {

struct OrchestratorOptions {
    std::string path;  ///< the mountpoint; with a gate in the clients anything on the file system
    std::string state;
    std::string gate = "servers";
    std::string listen;    ///< with a gate in the clients
    std::string key_file;  ///< of those who come by TCP
    std::string policy = "default";
    std::string seek_profile = "7200rpm";
    std::optional<orchestra::Time> window;
    orchestra::Time lease = orchestra::second;
};

/// Exits when it is asked for help, or for a list of the policies. Throws std::runtime_error.
OrchestratorOptions parse_orchestrator_options(int argc, char** argv);

}  // namespace unisono
