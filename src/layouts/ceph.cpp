#include <linux/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <numeric>

#include "layouts/magic.hpp"
#include "layouts/parsers.hpp"
#include "layouts/providers.hpp"
#include "support/text.hpp"
#include "unisono/extent.hpp"

namespace unisono {
namespace {

constexpr std::uint32_t objects_asked = 4096;
constexpr std::uint32_t objects_apart = 64;
constexpr std::uint32_t stripe_count_most = 4096;
constexpr std::uint64_t object_size_most = std::uint64_t{1} << 32;

// struct ceph_ioctl_dataloc of the kernel's fs/ceph/ioctl.h.
struct DataLocation {
    __u64 file_offset;  // in, out
    __u64 object_offset;
    __u64 object_number;
    __u64 object_size;
    char object_name[64];
    __u64 block_offset;
    __u64 block_size;
    __s64 osd;
    sockaddr_storage osd_address;
};
constexpr unsigned long get_data_location = _IOWR(0x97, 3, DataLocation);

std::optional<std::uint32_t> osd_from_kernel(FileProbe const& probe, std::uint64_t offset) {
    DataLocation location{.file_offset = offset};
    if (!probe.control(get_data_location, &location) || location.osd < 0) return std::nullopt;
    return static_cast<std::uint32_t>(location.osd);
}

std::vector<std::uint32_t> osds_of(CephStriping const& striping, ObjectPlacement const& placement,
                                   std::uint64_t objects) {
    std::vector<std::uint32_t> osds;
    for (std::uint64_t object = 0; object < objects; ++object) {
        auto const osd = placement(object_begin(striping, object));
        if (!osd) return {};
        osds.push_back(*osd);
    }
    return osds;
}

Layout layout_over(CephStriping const& striping, std::vector<std::uint32_t> servers,
                   std::string remark) {
    return Layout::of("ceph",
                      {{.unit = striping.stripe_unit,
                        .object_bytes = striping.object_size,
                        .width = striping.stripe_count,
                        .servers = std::move(servers)}},
                      std::move(remark));
}

std::optional<Layout> find_ceph(FileProbe const& probe, Options const&) {
    auto const kernel_client = probe.magic == magic::ceph;
    if (!kernel_client && probe.magic != magic::fuse) return std::nullopt;
    auto const attribute = text_attribute(probe, "ceph.file.layout");
    if (!attribute && !kernel_client) return std::nullopt;
    if (!attribute) return Layout::unknown("ceph", "ceph.file.layout cannot be read");
    auto const striping = parse_ceph_striping(*attribute);
    if (!striping) return Layout::unknown("ceph", "ceph.file.layout=\"" + *attribute + "\"");
    if (kernel_client)
        return ceph_layout(*striping,
                           [&](std::uint64_t offset) { return osd_from_kernel(probe, offset); });
    return ceph_layout(*striping, probe.ceph_library(*striping));
}

}  // namespace

std::optional<CephStriping> parse_ceph_striping(std::string_view attribute) {
    CephStriping striping;
    for (auto const part : split(attribute, ' ')) {
        auto const equals = part.find('=');
        if (equals == std::string_view::npos) continue;
        auto const key = part.substr(0, equals);
        auto const value = part.substr(equals + 1);
        if (key == "stripe_unit") striping.stripe_unit = parse_bytes(value).value_or(0);
        if (key == "stripe_count") striping.stripe_count = parse_count(value).value_or(0);
        if (key == "object_size") striping.object_size = parse_bytes(value).value_or(0);
    }
    if (striping.stripe_unit == 0 || striping.stripe_count == 0 || striping.object_size == 0 ||
        striping.object_size % striping.stripe_unit != 0 ||
        striping.stripe_count > stripe_count_most || striping.object_size > object_size_most)
        return std::nullopt;
    return striping;
}

std::uint64_t object_begin(CephStriping const& striping, std::uint64_t object) {
    auto const set = object / striping.stripe_count;
    return set * striping.object_size * striping.stripe_count +
           object % striping.stripe_count * striping.stripe_unit;
}

Layout ceph_layout(CephStriping const& striping, ObjectPlacement const& placement) {
    if (placement) {
        auto const osds =
            osds_of(striping, placement, round_up(objects_asked, striping.stripe_count));
        if (!osds.empty()) return layout_over(striping, dense_numbers(osds), {});
    }
    std::vector<std::uint32_t> objects(round_up(objects_apart, striping.stripe_count));
    std::iota(objects.begin(), objects.end(), 0);
    return layout_over(striping, std::move(objects),
                       "by object, it is not known which server has which");
}

constinit Provider const ceph_layouts{"ceph", find_ceph};

}  // namespace unisono
