#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unisono::orchestra {

inline constexpr std::size_t program_id_length_max = 63;

/// What is known of a process.
struct ProcessFacts {
    std::vector<std::pair<std::string, std::string>> environment;
    /// Number and name, from the parent upwards.
    std::vector<std::pair<int, std::string>> ancestors;
    int session = 0;
    std::string node;  ///< where ids of several nodes are compared: numbers are a node's own
};

/// Which program a process belongs to: all ranks of one launch on a node have the same answer, and
/// no two launches of one machine do, or of several if the node is given. In this order: what the
/// user says (UNISONO_PROGRAM); the batch system's job, and its step where it has one; the
/// launcher's own name of the job; the number of the outermost launcher among the ancestors; the
/// session. Differs from iorchestrator-sc10, which is told by an instrumented MPI library: so
/// programs without MPI have an id, too.
/// Pure. At most program_id_length_max letters, digits and marks that need no quotes anywhere.
std::string program_id(ProcessFacts const& facts);
/// Whether `text` can be one: what others say is not always what program_id() said.
bool is_program_id(std::string_view text);
/// What the program that `user` calls `id` is called at a gate of `host`'s. The host's own have the
/// id that they say; others' have their user's number behind it, so that nobody has a part in
/// another user's turns by taking his program's name. Pure.
std::string program_id_at_gate(std::string_view id, uid_t user, uid_t host);
/// Of this node, as far as it can stand in an id.
std::string node_name();

/// Reads them from a /proc, as far as program_id() needs them: where the environment names the
/// program, nothing else (each ancestor takes some 20 us). What cannot be read (it is another
/// user's, or gone) is missing.
ProcessFacts read_process_facts(int process, std::string const& proc = "/proc");

}  // namespace unisono::orchestra
