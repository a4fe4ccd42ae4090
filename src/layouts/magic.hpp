#pragma once

#include <cstdint>

namespace unisono::magic {

// What statfs() calls file systems; the kernel's headers lack most of them.
inline constexpr std::uint32_t beegfs = 0x19830326;
inline constexpr std::uint32_t ceph = 0x00c36400;
inline constexpr std::uint32_t fuse = 0x65735546;  // ceph-fuse, the testbed's, and others
inline constexpr std::uint32_t gpfs = 0x47504653;
inline constexpr std::uint32_t lustre = 0x0bd00bd0;
inline constexpr std::uint32_t orangefs = 0x20030528;

}  // namespace unisono::magic
