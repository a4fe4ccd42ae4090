#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "unisono/topology.hpp"

namespace unisono::interpose {

/// How the ranks of a communicator are taken to be spread over nodes.
struct Placement {
    bool messages_only = false;         ///< every rank a node of its own
    std::uint32_t pretended_nodes = 0;  ///< split each machine's ranks into this many; 0: do not
    bool pretended_fragments = false;   ///< long messages as over TCP, which one machine has not

    friend bool operator==(Placement const&, Placement const&) = default;
};

/// What this process's machine is called. Local.
std::string processor_name();
/// No other kernel has it, on this machine or another one; empty: not known. Local.
std::string boot_id();

/// What the ranks of a communicator tell each other of themselves.
struct Introduction {
    /// For each rank, a number that is equal for the ranks that can share memory only.
    std::vector<std::uint32_t> machine_labels;
    bool threads_of_some = false;  ///< of at least one rank several may call MPI at once
    bool threads_of_all = false;
};
/// `threads`: this rank's. Collective; one gather.
Introduction introduce(MPI_Comm comm, bool threads);
/// The labels where the kernel does not tell; takes 0.4 ms under MPICH 4.0. Collective.
std::vector<std::uint32_t> machine_labels_by_mpi(MPI_Comm comm);

/// The nodes that a placement makes of machines. Pure.
Topology place_ranks(std::vector<std::uint32_t> const& machine_labels, Placement placement);

}  // namespace unisono::interpose
