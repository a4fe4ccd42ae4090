#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "orchestra/program_id.hpp"

namespace unisono::testbed {

/// Who sent a request.
struct Client {
    std::uint64_t node = 0;  ///< whose link it uses
    std::uint32_t process = 0;
    char program[16] = {};
    char job[orchestra::program_id_length_max + 1] = {};  ///< what all ranks of one launch share
};

/// Which processes share a link to the servers.
enum class NodeKind : std::uint8_t {
    process,     ///< none: each process is a node, as with one process per node
    name_space,  ///< those in one network namespace
    cluster      ///< the same, and what is a node of a pocket cluster has its own, real link
};

/// Looks threads up in /proc and remembers them. Thread-safe.
class Clients {
public:
    explicit Clients(NodeKind kind) : kind_(kind) {}

    Client find(int thread);
    /// A thread opens a file: its number may be a new process's.
    void refresh(int thread);
    /// Lines "process,program" with a heading: which launch each process that is known belongs to.
    std::string programs();

private:
    [[nodiscard]] Client look_up(int thread) const;

    NodeKind kind_;
    std::mutex mutex_;
    std::unordered_map<int, Client> known_;
};

}  // namespace unisono::testbed
