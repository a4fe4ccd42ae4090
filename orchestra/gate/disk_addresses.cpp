#include "orchestra/gate/disk_addresses.hpp"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "orchestra/gate/coarse_seconds.hpp"

namespace unisono::orchestra {

namespace {

constexpr std::size_t stretches_max = 512;
constexpr std::uint64_t files_on_disk = 4096;

// What has no address yet, or none at all.
constexpr std::uint32_t without_place = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
                                        FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED;

void add(std::vector<DiskAddress>& addresses, DiskAddress const& here) {
    auto const known = std::ranges::find(addresses, here.server, &DiskAddress::server);
    if (known != addresses.end())
        known->bytes += here.bytes;
    else if (addresses.size() < DiskAddresses::servers_of_access_max)
        addresses.push_back(here);
    else
        addresses.back().bytes += here.bytes;
}

}  // namespace

DiskAddresses::DiskAddresses(int descriptor, std::uint64_t file, double capacity_bytes)
    : descriptor_(descriptor), capacity_bytes_(static_cast<std::uint64_t>(capacity_bytes)) {
    base_ = capacity_bytes_ / files_on_disk * (file % files_on_disk);
    capacity_bytes_ = std::max(capacity_bytes_, std::uint64_t{1});
}

void DiskAddresses::use(Layout const& layout) {
    std::lock_guard const lock(mutex_);
    auto const servers = layout.servers();  // 0: not known
    if (servers > 1 && servers <= servers_max) layout_ = layout;
}

std::vector<DiskAddress> DiskAddresses::of(std::span<Transfer const> list) {
    std::lock_guard const lock(mutex_);
    std::vector<DiskAddress> addresses;
    std::size_t units = 0;
    for (auto const& transfer : list) {
        auto const end = transfer.offset + transfer.bytes;
        for (auto at = transfer.offset; at < end;) {
            // Beyond that, what is left counts where it begins.
            auto const next = ++units < units_max ? std::min(end, unit_end(at)) : end;
            auto here = address_of(at);
            here.bytes = next - at;
            add(addresses, here);
            at = next;
        }
    }
    return addresses;
}

std::uint64_t DiskAddresses::unit_end(std::uint64_t offset) const {
    auto const unit = layout_ ? layout_->unit_at(offset) : 0;
    return unit == 0 ? ~std::uint64_t{0} : (offset / unit + 1) * unit;
}

DiskAddress DiskAddresses::address_of(std::uint64_t offset) {
    if (layout_)
        return {.server = layout_->server_of(offset),
                .kind = LocalityKind::layout,
                .address = (base_ + layout_->object_offset(offset)) % capacity_bytes_};
    if (has_map_) {
        if (!mapped(offset)) ask_file_system();
        auto const after =
            std::ranges::upper_bound(map_, offset, {}, [](Stretch const& s) { return s.begin; });
        if (after != map_.begin() && offset < std::prev(after)->end)
            return {.kind = LocalityKind::fiemap,
                    .address = std::prev(after)->address + offset - std::prev(after)->begin};
        if (has_map_) return {};  // a hole, or not on the disk yet
    }
    return {.kind = LocalityKind::offsets, .address = (base_ + offset) % capacity_bytes_};
}

bool DiskAddresses::mapped(std::uint64_t offset) {
    return !map_.empty() && offset < map_.back().end;
}

void DiskAddresses::ask_file_system() {
    if (auto const now_s = coarse_seconds(); std::exchange(asked_s_, now_s) == now_s) return;
    std::vector<std::byte> memory(sizeof(fiemap) + stretches_max * sizeof(fiemap_extent));
    auto* const question = reinterpret_cast<fiemap*>(memory.data());
    question->fm_length = FIEMAP_MAX_OFFSET;
    question->fm_extent_count = stretches_max;
    if (descriptor_ < 0 || ioctl(descriptor_, FS_IOC_FIEMAP, question) != 0) {
        has_map_ = false;
        return;
    }
    map_.clear();
    for (auto const& extent : std::span(question->fm_extents, question->fm_mapped_extents))
        if ((extent.fe_flags & without_place) == 0)
            map_.push_back(
                {extent.fe_logical, extent.fe_logical + extent.fe_length, extent.fe_physical});
}

}  // namespace unisono::orchestra
