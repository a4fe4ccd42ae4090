#include "strategies/realms.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace unisono {
namespace {

template <class Of>
std::vector<Interval<Of>> even_shares(Interval<Of> whole, std::uint32_t count, std::uint64_t unit) {
    assert(count > 0);
    assert(unit > 0);
    auto const first_unit = whole.begin / unit;
    auto const units = whole.empty() ? 0 : div_ceil(whole.end, unit) - first_unit;
    auto const share = units / count;
    auto const extra =
        units % count;  // this many own one more, as evenly among the others as can be

    std::vector<Interval<Of>> shares;
    shares.reserve(count);
    auto at = first_unit;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto const end = first_unit + (i + 1) * share + div_ceil((i + 1) * extra, count);
        shares.push_back({std::clamp(at * unit, whole.begin, whole.end),
                          std::clamp(end * unit, whole.begin, whole.end)});
        at = end;
    }
    assert(shares.size() == count && at == first_unit + units);
    return shares;
}

}  // namespace

std::vector<Extent> split_evenly(Extent touched, std::uint32_t count, std::uint64_t unit) {
    return even_shares(touched, count, unit);
}

std::vector<Realm> split_evenly(Realm const& realm, std::uint32_t count, std::uint64_t unit) {
    std::vector<Realm> shares;
    for (auto const& share : even_shares(realm.positions, count, unit))
        shares.push_back({realm.tiling, share});
    return shares;
}

std::uint64_t stripe_unit_to_cut_at(Facts const& facts) {
    auto const unit = facts.layout == nullptr ? 0 : facts.layout->unit_at(facts.touched.begin);
    return unit < facts.touched.bytes() ? unit : 0;
}

std::uint64_t cut_unit(Facts const& facts, Options const& options) {
    auto unit = stripe_unit_to_cut_at(facts);
    if (unit == 0) unit = options.striping_unit != 0 ? options.striping_unit : storage_page_bytes;
    return pages_must_not_be_shared(facts) ? round_up(unit, client_page_bytes) : unit;
}

bool pages_must_not_be_shared(Facts const& facts) {
    return facts.page_cached && facts.direction == Direction::write && facts.topology->nodes() > 1;
}

std::uint64_t window_bytes(Facts const& facts, Options const& options) {
    // Larger ones fall out of the cache. Where file I/O takes no longer than a copy, memory for the
    // first call's windows takes longer than the call: smaller ones there, if several rounds remain
    // (docs/lab/tried.md).
    constexpr std::uint64_t default_bytes = 512 << 10;
    constexpr std::uint64_t least_bytes = 128 << 10;
    constexpr std::uint64_t rounds = 8;
    auto const asked_for = options.cb_buffer_size;
    if (asked_for != 0) return asked_for;
    if (!facts.local_storage) return default_bytes;
    auto const fair = std::bit_ceil(facts.touched.bytes() / facts.topology->ranks() / rounds);
    return std::clamp(fair, least_bytes, default_bytes);
}

bool same_bytes_are_read(Facts const& facts) {
    return facts.direction == Direction::read && facts.bytes / 2 >= facts.touched.bytes();
}

bool has_several_servers(Facts const& facts) { return facts.layout->servers() > 1; }

std::string_view unfit_to_share_pages(Facts const& facts) {
    if (pages_must_not_be_shared(facts))
        return "this file system writes whole pages back, and nodes may share one";
    return {};
}

std::string_view unfit_to_stage(Facts const& facts) {
    return facts.ascending ? "" : "a view's tiles run into each other: offsets do not ascend";
}

std::string_view unfit_to_cache(Facts const& facts) {
    if (!facts.cacheable) return "some rank has no descriptor of the file";
    if (facts.page_cached && facts.topology->nodes() > 1)
        return "this file system writes whole pages back, and nodes may share one";
    return unfit_to_stage(facts);
}

std::string_view unfit_for_servers(Facts const& facts) {
    if (facts.layout == nullptr || !facts.layout->known())
        return "it is not known which server has which byte";
    auto const stripes_may_cut_pages =
        facts.layout->stripings().size() != 1 ||
        facts.layout->unit_at(facts.touched.begin) % client_page_bytes != 0;
    if (pages_must_not_be_shared(facts) && stripes_may_cut_pages)
        return "this file system writes whole pages back, and stripes cut them";
    return unfit_to_stage(facts);
}

}  // namespace unisono
