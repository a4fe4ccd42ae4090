#pragma once

#include <vector>

#include "unisono/plan.hpp"

namespace unisono {

/// What storage writes at once, at the least.
inline constexpr std::uint64_t storage_page_bytes = 4 << 10;

/// What clients that write whole pages back write at once: the largest page of this processor.
#ifdef __x86_64__
inline constexpr std::uint64_t client_page_bytes = 4 << 10;
#else
inline constexpr std::uint64_t client_page_bytes = 64 << 10;
#endif

/// Cuts `touched` into `count` realms of about equal size whose inner cuts are multiples of `unit`.
///
/// @param touched  file bytes [begin, end); may be empty
/// @param count    N >= 1
/// @param unit     U >= 1, bytes
/// @return N extents tiling `touched` in order; fewer units than realms: the last ones are empty.
/// Errors: none; count == 0 or unit == 0 is a caller bug and asserts. Cost: O(N).
/// Source: two-phase I/O (Thakur, Gropp, Lusk, Frontiers '99), even split; aligned as in
///         Liao and Choudhary, SC '08. Differs: spare units go to the lowest-numbered realms.
std::vector<Extent> split_evenly(Extent touched, std::uint32_t count, std::uint64_t unit);

/// The same in realm positions: each share is contiguous in the realm's own order, for stripes of
/// one server in that server's object.
std::vector<Realm> split_evenly(Realm const& realm, std::uint32_t count, std::uint64_t unit);

/// Stripe units that cuts can lie between; 0: not known, or all that is touched fits into one.
std::uint64_t stripe_unit_to_cut_at(Facts const& facts);

/// What cuts between realms should be multiples of: whole stripe units, or whole pages.
std::uint64_t cut_unit(Facts const& facts, Options const& options);

/// Bytes of a collective buffer: cb_buffer_size, or what measures well.
std::uint64_t window_bytes(Facts const& facts, Options const& options);

/// Nodes write whole pages back, so no two of them may write to one.
bool pages_must_not_be_shared(Facts const& facts);

/// Ranks ask for bytes that others read, too: each byte twice, in the mean.
bool same_bytes_are_read(Facts const& facts);

/// With a single server there is nothing for a layout to tell.
bool has_several_servers(Facts const& facts);

/// Why nodes may not write as their ranks' data are cut; empty: they may.
std::string_view unfit_to_share_pages(Facts const& facts);
/// Why staged plans cannot do a call; empty: they can.
std::string_view unfit_to_stage(Facts const& facts);
/// The same for cached plans.
std::string_view unfit_to_cache(Facts const& facts);
/// The same for strategies that need to know which server has which byte.
std::string_view unfit_for_servers(Facts const& facts);

}  // namespace unisono
