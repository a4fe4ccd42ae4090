#include "interpose/messages.hpp"

#include <cstdio>
#include <mutex>
#include <set>

namespace unisono::interpose {

void print_once(std::vector<std::string> const& messages) {
    static std::mutex mutex;
    static std::set<std::string> printed;
    std::lock_guard const lock{mutex};
    for (auto const& message : messages)
        if (printed.insert(message).second) std::fprintf(stderr, "%s\n", message.c_str());
}

}  // namespace unisono::interpose
