#include "coordinate/gate/place.hpp"

#include <cstdio>
#include <cstdlib>

namespace unisono::coordinate {

std::string runtime_folder() {
    auto const* const chosen = std::getenv("UNISONO_RUNTIME");
    return chosen != nullptr && *chosen != '\0' ? chosen : "/dev/shm";
}

std::string gate_folder(dev_t device, uid_t owner, std::string const& runtime) {
    char name[64];
    std::snprintf(name, sizeof name, "/unisono-gate-%u-%llx", owner,
                  static_cast<unsigned long long>(device));
    return runtime + name;
}

std::string page_path(std::string const& folder) { return folder + "/page"; }

}  // namespace unisono::coordinate
