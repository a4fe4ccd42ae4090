#include "layouts/apply_striping.hpp"

#include <cerrno>
#include <system_error>

#include "layouts/magic.hpp"
#include "unisono/extent.hpp"

namespace unisono {
namespace {

std::string set_attribute(FileProbe const& probe, std::string const& name,
                          std::string const& value) {
    auto const error = probe.set_attribute(name.c_str(), value);
    if (error == 0) return {};
    auto const cause =
        error == ENOTEMPTY ? "the file is not empty" : std::generic_category().message(error);
    return name + " cannot be set to \"" + value + "\": " + cause;
}

// All in one attribute: one by one, some orders are refused, since object_size must always be a
// multiple of stripe_unit.
std::string apply_to_ceph(FileProbe const& probe, std::string const& current,
                          Options const& options) {
    auto striping = parse_ceph_striping(current);
    if (!striping) return "ceph.file.layout=\"" + current + "\" cannot be read";
    if (options.striping_factor != 0) striping->stripe_count = options.striping_factor;
    if (options.striping_unit != 0) striping->stripe_unit = options.striping_unit;
    striping->object_size = round_up(striping->object_size, striping->stripe_unit);
    return set_attribute(probe, "ceph.file.layout",
                         "stripe_unit=" + std::to_string(striping->stripe_unit) +
                             " stripe_count=" + std::to_string(striping->stripe_count) +
                             " object_size=" + std::to_string(striping->object_size));
}

std::string apply_to_pocket(FileProbe const& probe, Options const& options) {
    std::string complaint;
    if (options.striping_unit != 0)
        complaint = set_attribute(probe, "user.pocketfs.stripe_bytes",
                                  std::to_string(options.striping_unit));
    if (complaint.empty() && options.striping_factor != 0)
        complaint =
            set_attribute(probe, "user.pocketfs.servers", std::to_string(options.striping_factor));
    return complaint;
}

}  // namespace

std::string apply_striping(FileProbe const& probe, Options const& options) {
    if (options.striping_unit == 0 && options.striping_factor == 0) return {};
    if (probe.magic != magic::ceph && probe.magic != magic::fuse) return {};
    if (probe.magic == magic::fuse && probe.attribute("user.pocketfs.layout"))
        return apply_to_pocket(probe, options);
    if (auto const current = text_attribute(probe, "ceph.file.layout"))
        return apply_to_ceph(probe, *current, options);
    return {};
}

std::string apply_striping(int descriptor, Options const& options) {
    return apply_striping(FileProbe::of(descriptor), options);
}

}  // namespace unisono
