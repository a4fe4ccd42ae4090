#include <sys/ioctl.h>

#include "layouts/magic.hpp"
#include "layouts/parsers.hpp"
#include "layouts/providers.hpp"

namespace unisono {
namespace {

// Structures, numbers and patterns of beegfs_client_devel/include/beegfs/beegfs_ioctl.h.
struct StripeInfo {
    unsigned pattern;
    unsigned chunk_bytes;
    std::uint16_t target_count;
};
struct StripeTarget {
    std::uint32_t index;            // in
    std::uint32_t target_or_group;  // a mirror group if the file is mirrored
    std::uint32_t primary_target;
    std::uint32_t secondary_target;
    std::uint32_t primary_node;
    std::uint32_t secondary_node;
    char primary_node_name[256];
    char secondary_node_name[256];
};
struct OldStripeTarget {
    std::uint16_t index;  // in
    std::uint16_t target;
    std::uint16_t node;
    char node_name[256];
};
constexpr unsigned long get_stripe_info = _IOR('f', 25, StripeInfo);
constexpr unsigned long get_stripe_target = _IOR('f', 26, StripeTarget);
constexpr unsigned long get_old_stripe_target = _IOR('f', 26, OldStripeTarget);

constexpr unsigned pattern_raid0 = 1;
constexpr unsigned pattern_buddy_mirror = 3;

std::optional<std::uint32_t> target_at(FileProbe const& probe, std::uint16_t index) {
    StripeTarget target{.index = index};
    if (probe.control(get_stripe_target, &target)) return target.target_or_group;
    OldStripeTarget old_target{.index = index};
    if (probe.control(get_old_stripe_target, &old_target)) return old_target.target;
    return std::nullopt;
}

std::optional<Layout> find_beegfs(FileProbe const& probe, Options const&) {
    if (probe.magic != magic::beegfs) return std::nullopt;
    StripeInfo info{};
    if (!probe.control(get_stripe_info, &info))
        return Layout::unknown("beegfs", "the client does not tell the stripe pattern");
    if (info.pattern != pattern_raid0 && info.pattern != pattern_buddy_mirror)
        return Layout::unknown("beegfs", "stripe pattern " + std::to_string(info.pattern));
    if (info.target_count == 0) return Layout::unknown("beegfs", "no targets");
    std::vector<std::uint32_t> targets;
    for (std::uint16_t index = 0; index < info.target_count; ++index) {
        auto const target = target_at(probe, index);
        if (!target) return Layout::unknown("beegfs", "the client does not tell the targets");
        targets.push_back(*target);
    }
    return Layout::of("beegfs", {Striping::round_robin(info.chunk_bytes, dense_numbers(targets))});
}

}  // namespace

constinit Provider const beegfs_layouts{"beegfs", find_beegfs};

}  // namespace unisono
