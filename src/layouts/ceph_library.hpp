#pragma once

#include "layouts/parsers.hpp"

namespace unisono {

/// Asks libcephfs, loaded at run time, for the OSDs of a file that ceph-fuse has mounted. It reads
/// the usual ceph.conf and keyring, becomes one more client and opens the file for reading until
/// the placement is destroyed. nullptr if the library is not there, does not reach the cluster
/// within seconds, or does not find the same file by its path below the mount point.
ObjectPlacement ceph_library_placement(int descriptor, CephStriping const& striping);

}  // namespace unisono
