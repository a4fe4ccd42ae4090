#include <algorithm>

#include "strategies/aggregators.hpp"
#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t default_block_bytes = 4 << 20;
// What one rank of a node reads in one go, the others beside it what comes next.
constexpr std::uint64_t read_only_block_bytes = 512 << 10;
// Blocks are for ranges that are used, not for bytes far apart.
constexpr std::uint64_t sparse_ratio = 16;

// Two windows of blocks fit into what may be lost with the program.
std::uint64_t block_bytes(Facts const& facts, Options const& options) {
    if (options.cb_buffer_size == 0 && facts.read_only && facts.topology->nodes() == 1)
        return read_only_block_bytes;
    auto const bytes = options.cb_buffer_size != 0 ? options.cb_buffer_size : default_block_bytes;
    if (options.write_behind_bytes == 0) return bytes;
    auto const quarter = options.write_behind_bytes / 4;
    auto const most =
        quarter < storage_page_bytes ? quarter : quarter - quarter % storage_page_bytes;
    return std::min(bytes, std::max<std::uint64_t>(most, 1));
}

// Blocks of the file, dealt to the aggregators once for all calls:
//   file      |-- 0 --|-- 1 --|-- 2 --|-- 3 --|-- 4 --|
//   owner         a0      a1      a2      a0      a1
// Each keeps some of its blocks in memory from call to call.
// Differs: a view travels once, by content, those of a node as one message (section V.A); which
// ranks aggregate is as for two_phase, in the paper all do (III.D); what is dirty and what is valid
// is known byte by byte, and nothing is read before a write (V.C); blocks are also written while
// the program computes (its future work; unisono_flush=close for its own way); calls that repeat
// are not agreed on (execute/cached/: deposit.cpp, withdrawal.cpp; unisono_write_behind=disable and
// unisono_read_ahead=disable for the paper's way).
Plan plan_view_based(Facts const& facts, Options const& options) {
    Plan plan{.way = Plan::Way::cached, .aggregators = choose_aggregators(facts, options)};
    plan.unsaved_bytes = options.write_behind_bytes;
    plan.unsaved_s = options.write_behind_s;
    plan.block_bytes = block_bytes(facts, options);
    plan.pool_bytes = std::max(options.pool_bytes, plan.block_bytes);
    plan.flush_online = !options.flush_at_close;
    return plan;
}

std::string_view unfit_view_based(Facts const& facts) {
    if (auto const why = unfit_to_cache(facts); !why.empty()) return why;
    if (facts.touched.bytes() / sparse_ratio > facts.bytes)
        return "most of what lies between the first and the last byte is not asked for";
    return {};
}

}  // namespace

constinit Strategy const view_based{
    .name = "view_based",
    .summary = "fixed blocks in collective buffers that live across calls; views known beforehand",
    .source = "View-based collective I/O, CCGrid 2008, sections IV and V",
    .unfit = unfit_view_based,
    .plan = plan_view_based,
    // The time of a call is not that of what it leaves for later: comparing it would be unfair.
    .worth_measuring = [](Facts const&) { return false; },
};

}  // namespace unisono
