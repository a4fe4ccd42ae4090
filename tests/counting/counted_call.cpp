#include "counted_call.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <barrier>
#include <map>
#include <mutex>
#include <set>

#include "execute/collective.hpp"
#include "execute/thread_team.hpp"

namespace unisono {
namespace {

constexpr off_t file_bytes = 1 << 30;

thread_local double file_time_s = 0;

struct Account {
    std::mutex mutex;
    std::vector<ListSeen> lists;
};

/// A file without bytes: whatever is asked of it works, and is written down.
class AccountBackend final : public Backend {
public:
    AccountBackend(Account& account, std::uint32_t rank) : account_{account}, rank_{rank} {}

    [[nodiscard]] std::string_view name() const override { return "account"; }
    IoResult perform(Direction, std::span<Transfer const> list) override {
        file_time_s += 1;
        IoResult done;
        ListSeen seen{.rank = rank_};
        for (auto const& transfer : list) {
            seen.extents.push_back({transfer.offset, transfer.offset + transfer.bytes});
            done.bytes += transfer.bytes;
        }
        std::lock_guard const lock{account_.mutex};
        account_.lists.push_back(std::move(seen));
        return done;
    }
    Error sync() override { return {}; }

private:
    Account& account_;
    std::uint32_t rank_;
};

// Calls use(list, part) for each list's parts, cut where servers change.
template <class Use>
void for_each_part(std::vector<ListSeen> const& lists, Layout const& layout, Use&& use) {
    for (auto const& list : lists)
        for (auto const& extent : list.extents)
            for (auto at = extent.begin; at < extent.end;) {
                auto const unit = layout.unit_at(at);
                auto const end = std::min(extent.end, round_down(at, unit) + unit);
                use(list, Extent{at, end});
                at = end;
            }
}

template <class Key>
std::vector<std::uint64_t> distinct_by_server(std::vector<ListSeen> const& lists,
                                              Layout const& layout, Key&& key) {
    std::vector<std::set<std::uint64_t>> keys(layout.servers());
    for_each_part(lists, layout, [&](ListSeen const& list, Extent part) {
        keys[layout.server_of(part.begin)].insert(key(list));
    });
    std::vector<std::uint64_t> counts;
    counts.reserve(keys.size());
    for (auto const& of_server : keys) counts.push_back(of_server.size());
    return counts;
}

// Which aggregator's realm a cell is in.
std::vector<std::uint32_t> owners_of_cells(Plan const& plan, std::uint64_t cell_bytes) {
    std::vector<std::uint32_t> owner;
    for (std::uint32_t i = 0; i < plan.realms.size(); ++i)
        walk(plan.realms[i].tiling, plan.realms[i].positions,
             [&](std::int64_t offset, std::uint64_t bytes) {
                 auto const begin = static_cast<std::uint64_t>(offset) / cell_bytes;
                 auto const end = div_ceil(static_cast<std::uint64_t>(offset) + bytes, cell_bytes);
                 if (owner.size() < end) owner.resize(end);
                 std::fill(owner.begin() + static_cast<std::ptrdiff_t>(begin),
                           owner.begin() + static_cast<std::ptrdiff_t>(end), i);
             });
    return owner;
}

/// What has been carried up to some moment.
struct Moment {
    explicit Moment(ThreadTeams::Carried const& carried)
        : messages{carried.messages},
          message_bytes{carried.message_bytes},
          reductions{carried.reductions} {}
    std::uint64_t messages;
    std::uint64_t message_bytes;
    std::uint64_t reductions;
};

}  // namespace

std::uint64_t CountedCall::recorded(std::uint64_t Traffic::*value) const {
    std::uint64_t total = 0;
    for (auto const& record : records) total += record.traffic.*value;
    return total;
}

std::uint64_t CountedCall::file_bytes() const {
    std::uint64_t total = 0;
    for (auto const& list : lists)
        for (auto const& extent : list.extents) total += extent.bytes();
    return total;
}

std::uint64_t CountedCall::extents() const {
    std::uint64_t total = 0;
    for (auto const& list : lists) total += list.extents.size();
    return total;
}

std::vector<std::uint64_t> CountedCall::requests_by_server(Layout const& layout) const {
    return distinct_by_server(lists, layout, [&](ListSeen const& list) {
        return static_cast<std::uint64_t>(&list - lists.data());
    });
}

std::vector<std::uint64_t> CountedCall::clients_by_server(Layout const& layout) const {
    return distinct_by_server(lists, layout,
                              [](ListSeen const& list) { return std::uint64_t{list.rank}; });
}

bool CountedCall::ascends_at_every_server(Layout const& layout) const {
    std::vector<std::uint64_t> done(layout.servers());
    auto ascends = true;
    for_each_part(lists, layout, [&](ListSeen const&, Extent part) {
        auto& before = done[layout.server_of(part.begin)];
        auto const begin = layout.object_offset(part.begin);
        ascends = ascends && begin >= before;
        before = begin + part.bytes();
    });
    return ascends;
}

double file_clock_s() { return file_time_s; }

CountedCall count_call(Scene const& scene, std::string const& strategy, CallRecord::Clock clock) {
    auto options = scene.options;
    options.strategy = strategy;
    Account account;
    CountedCall call;
    call.records.resize(scene.requests.size());
    ThreadTeams teams{scene.topology};
    std::vector<Moment> moments;  // when all ranks have done something, and nothing more yet
    std::barrier all_done{static_cast<std::ptrdiff_t>(scene.requests.size()),
                          [&]() noexcept { moments.emplace_back(teams.carried); }};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        auto const rank = team.rank();
        Storage storage;
        storage.descriptor = memfd_create("counted", 0);
        EXPECT_EQ(ftruncate(storage.descriptor, file_bytes), 0);  // need not grow
        storage.backend = std::make_unique<AccountBackend>(account, rank);
        auto const& [view, positions] = scene.requests[rank];
        std::vector<std::byte> data(positions.bytes());
        auto const bytes = static_cast<std::int64_t>(data.size());
        Request const request{.direction = scene.direction,
                              .view = view,
                              .positions = positions,
                              .memory = {make_dense(data.size()), 0, bytes},
                              .base = reinterpret_cast<std::uintptr_t>(data.data())};
        OnlineTuner tuner;
        GatheredFacts gathered;
        {
            CachedFile cache{team, rendezvous, storage};
            auto const perform = [&] {
                CallRecord record{clock};
                auto const outcome = perform_collective(
                    {team, rendezvous, storage, scene.layout, options, tuner, gathered, &cache},
                    request, {}, record);
                all_done.arrive_and_wait();
                cache.drain(record);
                if (rank == 0) call.refusal = outcome.refusal_of_strategy;
                all_done.arrive_and_wait();
                return record;
            };
            perform();
            if (rank == 0) account.lists.clear();
            call.records[rank] = perform();
        }
        close(storage.descriptor);
    });
    // After each call, and after what it had left in memory was written.
    auto const &after_first = moments[0], &before = moments[1], &after = moments[2];
    call.messages = after.messages - before.messages;
    call.message_bytes = after.message_bytes - before.message_bytes;
    call.reductions = after.reductions - before.reductions;
    call.view_messages = after_first.messages - call.messages;
    if (call.refusal.empty()) call.lists = std::move(account.lists);
    return call;
}

Crossing crossing_bytes(Scene const& scene, Plan const& plan, std::uint64_t cell_bytes) {
    Crossing crossing;
    auto const cached = plan.way == Plan::Way::cached;
    if (plan.within_nodes || (plan.way != Plan::Way::staged && !cached)) return crossing;
    auto const owner = owners_of_cells(plan, cell_bytes);
    auto const owner_of = [&](std::uint64_t offset) {
        return cached ? offset / plan.block_bytes % plan.aggregators.size()
                      : owner[offset / cell_bytes];
    };
    for (std::uint32_t rank = 0; rank < scene.requests.size(); ++rank) {
        std::map<std::uint64_t, std::uint64_t> by_aggregator;
        auto const& [view, positions] = scene.requests[rank];
        walk(view, positions, [&](std::int64_t offset, std::uint64_t bytes) {
            auto at = static_cast<std::uint64_t>(offset);
            for (auto const end = at + bytes; at < end;) {
                auto const next = std::min(end, round_down(at, cell_bytes) + cell_bytes);
                by_aggregator[owner_of(at)] += next - at;
                at = next;
            }
        });
        for (auto const& [aggregator, bytes] : by_aggregator) {
            auto const& node_of = scene.topology.node_of;
            if (node_of[rank] == node_of[plan.aggregators[aggregator]]) continue;
            crossing.bytes += bytes;
            ++crossing.pairs;
        }
    }
    return crossing;
}

}  // namespace unisono
