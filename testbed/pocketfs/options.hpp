#pragma once

#include <cstdint>
#include <string>

#include "model/server.hpp"
#include "pocketfs/clients.hpp"

namespace unisono::testbed {

/// How a file system is mounted.
struct MountOptions {
    std::string mountpoint;
    std::string backing;
    std::string profile_file;  ///< empty: no emulation
    std::uint32_t servers = 4;
    std::uint64_t stripe_bytes = 65536;
    std::uint32_t stripe_servers = 0;      ///< of a new file; 0: all
    std::uint64_t chunk_bytes = 64 << 20;  ///< a file's place on a disk grows by so much
    std::uint64_t distance_bytes = 0;  ///< on each disk, from one new file's beginning to the next
    double page_cache_bytes = -1;      ///< of each server; below 0: as in the profile
    NodeKind node = NodeKind::process;
    ServerOptions server;
    bool power_cuts = false;  ///< keep what files held when they were last synced
    bool foreground = false;
};

/// Reads the command line. Throws std::runtime_error that names the mistake.
MountOptions parse_options(int argc, char** argv);

}  // namespace unisono::testbed
