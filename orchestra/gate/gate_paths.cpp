#include "orchestra/gate/gate_paths.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace unisono::orchestra {

std::string chosen_runtime() {
    auto const* const chosen = secure_getenv("UNISONO_RUNTIME");
    return chosen != nullptr ? chosen : "";
}

GatePaths gate_paths(dev_t device, uid_t owner, std::string const& runtime) {
    char name[64];
    std::snprintf(name, sizeof name, "%u-%llx", owner, static_cast<unsigned long long>(device));
    std::string const shared = runtime.empty() ? "/dev/shm" : runtime;
    std::string const closed = runtime.empty() && owner == 0 ? "/run" : shared;
    return {.folder = closed + "/unisono-gate-" + name, .slots = shared + "/unisono-slots-" + name};
}

bool is_folder_of(uid_t owner, std::string const& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == owner;
}

std::string page_path(std::string const& folder) { return folder + "/page"; }

void fail_at(std::string const& path, char const* why) {
    throw std::runtime_error(path + ": " + (why != nullptr ? why : std::strerror(errno)));
}

}  // namespace unisono::orchestra
