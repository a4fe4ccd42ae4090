#include "pocketfs/clients.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <set>

namespace unisono::testbed {

namespace {

constexpr std::size_t known_max = 1 << 16;

}  // namespace

Client Clients::look_up(int thread) const {
    Client client{.node = static_cast<std::uint64_t>(thread),
                  .process = static_cast<std::uint32_t>(thread)};
    auto const folder = "/proc/" + std::to_string(thread);
    std::ifstream status(folder + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Name:\t")) {
            std::snprintf(client.program, sizeof client.program, "%s", line.c_str() + 6);
        } else if (line.starts_with("Tgid:\t")) {
            client.process = static_cast<std::uint32_t>(std::stoul(line.substr(6)));
            break;
        }
    }
    client.node = client.process;
    struct stat name_space {};
    if (kind_ != NodeKind::process && stat((folder + "/ns/net").c_str(), &name_space) == 0)
        client.node = name_space.st_ino;
    auto const job =
        orchestra::program_id(orchestra::read_process_facts(static_cast<int>(client.process)));
    std::snprintf(client.job, sizeof client.job, "%s", job.c_str());
    return client;
}

Client Clients::find(int thread) {
    std::lock_guard const lock(mutex_);
    auto const found = known_.find(thread);
    if (found != known_.end()) return found->second;
    if (known_.size() >= known_max) known_.clear();
    return known_[thread] = look_up(thread);
}

void Clients::refresh(int thread) {
    auto const client = look_up(thread);
    std::lock_guard const lock(mutex_);
    known_[thread] = client;
}

std::string Clients::programs() {
    std::lock_guard const lock(mutex_);
    std::set<std::string> lines;  // a process may have several threads
    for (auto const& [thread, client] : known_)
        lines.insert(std::to_string(client.process) + "," + client.job + "\n");
    std::string text = "process,program\n";
    for (auto const& line : lines) text += line;
    return text;
}

}  // namespace unisono::testbed
