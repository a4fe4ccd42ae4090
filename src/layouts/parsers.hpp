#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "unisono/layout.hpp"

// What file systems say about a file, made into layouts. Pure; whatever cannot be understood is an
// unknown layout with the reason.

namespace unisono {

/// Servers numbered from 0 in the order of their identities: {37, 4, 37} becomes {1, 0, 1}.
std::vector<std::uint32_t> dense_numbers(std::span<std::uint32_t const> identities);

/// Lustre's attribute lustre.lov: plain (v1, v3) or composite (PFL, DoM, FLR, SEL), overstriped or
/// not. Format: lustre/include/uapi/linux/lustre/lustre_user.h. Servers are the OSTs in the order
/// of their indices, then the metadata server if it has data. A component that has no objects yet
/// is on servers 0, 1, ...; one that will be on all servers leaves the layout unknown but for
/// units.
Layout parse_lustre_layout(std::span<std::byte const> attribute);

/// CephFS striping, as the attribute ceph.file.layout has it.
struct CephStriping {
    std::uint64_t stripe_unit = 0;  ///< bytes
    std::uint32_t stripe_count = 0;
    std::uint64_t object_size = 0;  ///< bytes
};

/// "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=cephfs_data". Nothing if malformed
/// or impossible.
std::optional<CephStriping> parse_ceph_striping(std::string_view attribute);

/// File offset of the first byte of object n.
std::uint64_t object_begin(CephStriping const& striping, std::uint64_t object);

/// The OSD (any identity) of the object that a file offset is in; nothing if it cannot be told.
using ObjectPlacement = std::function<std::optional<std::uint32_t>(std::uint64_t offset)>;

/// With a placement: servers are the OSDs of the first 4096 objects, beyond which they are taken to
/// repeat. Without one, or where it does not know: by object, 64 or a few more of which stand for
/// one server each, in turn; bytes of one object are together, but how many OSDs there are and
/// which objects share one is not known.
Layout ceph_layout(CephStriping const& striping, ObjectPlacement const& placement);

/// OrangeFS (PVFS2): attributes system.pvfs2.md, the encoded distribution, and system.pvfs2.dh, the
/// handles of the data files, 8 bytes each. Formats: orangefs src/io/description, endecode-funcs.h.
/// Each data file is taken to be on a server of its own.
Layout parse_orangefs_layout(std::span<std::byte const> distribution,
                             std::span<std::byte const> handles);

}  // namespace unisono
