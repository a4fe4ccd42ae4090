#include "explain/explain.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <system_error>

#include "execute/collective.hpp"
#include "execute/thread_team.hpp"
#include "strategies/all.hpp"
#include "strategies/show.hpp"
#include "support/descriptor.hpp"

namespace unisono {
namespace {

// Does nothing and remembers what. All of a write was written, all of a read was there.
class RememberingBackend final : public Backend {
public:
    RememberingBackend(Layout const& layout, Accesses& accesses)
        : layout_{layout}, accesses_{accesses} {}

    [[nodiscard]] std::string_view name() const override { return "remembering"; }
    IoResult perform(Direction /*direction*/, std::span<Transfer const> list) override {
        IoResult result;
        ++accesses_.lists;
        accesses_.extents += list.size();
        for (auto const& transfer : list) {
            result.bytes += transfer.bytes;
            note_servers(transfer.offset, transfer.offset + transfer.bytes);
        }
        accesses_.bytes += result.bytes;
        return result;
    }
    Error sync() override { return {}; }

private:
    void note_servers(std::uint64_t at, std::uint64_t end) {
        if (!layout_.known()) return;
        while (at < end && servers_.size() < layout_.servers()) {
            servers_.insert(layout_.server_of(at));
            at = layout_.unit_end(at);
        }
        accesses_.servers.assign(servers_.begin(), servers_.end());
    }

    Layout const& layout_;
    Accesses& accesses_;
    std::set<std::uint32_t> servers_;
};

// Has a size, which cached writes look at; its bytes are never accessed.
Descriptor make_no_file() {
    Descriptor file{memfd_create("unisono-explain", MFD_CLOEXEC)};
    if (!file) throw std::system_error(errno, std::generic_category(), "memfd_create");
    return file;
}

// What a rank's thread leaves behind.
struct OfRank {
    Outcome outcome;
    std::uint64_t rounds = 0;
    Traffic traffic;
};

Request request_of(Scene const& scene, std::uint32_t rank, std::vector<std::byte>& data) {
    auto const& [view, positions] = scene.requests[rank];
    data.resize(std::max<std::uint64_t>(positions.bytes(), 1));
    return {.direction = scene.direction,
            .view = view,
            .positions = positions,
            .memory = {make_dense(data.size()), 0, static_cast<std::int64_t>(data.size())},
            .base = reinterpret_cast<std::uintptr_t>(data.data())};
}

// One rank's call, and the drain of what it has left in buffers, which counts as the call's.
OfRank call(Scene const& scene, Options const& options, Team& team, Rendezvous& rendezvous,
            int descriptor, Accesses& accesses) {
    Storage storage;
    storage.descriptor = descriptor;
    storage.backend = std::make_unique<RememberingBackend>(scene.layout, accesses);
    storage.local = scene.local_storage;
    storage.page_cached = scene.page_cached;
    CallRecord record;
    OnlineTuner tuner;
    GatheredFacts gathered;
    CachedFile cache{team, rendezvous, storage};
    std::vector<std::byte> data;
    auto const request = request_of(scene, team.rank(), data);
    auto const before = team.traffic();
    OfRank done;
    done.outcome = perform_collective({.team = team,
                                       .rendezvous = rendezvous,
                                       .storage = storage,
                                       .layout = scene.layout,
                                       .options = options,
                                       .tuner = tuner,
                                       .gathered = gathered,
                                       .cache = &cache},
                                      request, {}, record);
    cache.end_window();
    if (cache.in_use()) cache.drain(record);
    done.rounds = record.rounds;
    done.traffic = team.traffic() - before;
    return done;
}

// On a rank's thread: the others wait for it. Where several throw, one says so.
[[noreturn]] void end(std::exception const& thrown) {
    static std::mutex first;
    first.lock();
    std::fprintf(stderr, "%s\n", thrown.what());
    std::_Exit(2);
}

std::vector<OfRank> run(Scene const& scene, Options const& options,
                        std::vector<Accesses>& accesses) {
    std::vector<OfRank> ranks(scene.topology.ranks());
    accesses.resize(ranks.size());
    auto const file = make_no_file();
    ThreadTeams teams{scene.topology};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        auto const rank = team.rank();
        try {
            ranks[rank] = call(scene, options, team, rendezvous, file.get(), accesses[rank]);
        } catch (std::exception const& thrown) {
            end(thrown);
        }
    });
    return ranks;
}

Explained::Way way_of(Scene const& scene, Explained const& explained) {
    Explained::Way way;
    auto const& topology = scene.topology;
    for (std::uint32_t rank = 0; rank < topology.ranks(); ++rank) {
        auto const& request = scene.requests[rank];
        if (explained.plan.way == Plan::Way::direct) way.own += request.bytes();
        for (std::size_t i = 0; i < explained.realms.size(); ++i) {
            auto const owner = explained.plan.aggregators[i];
            auto const same_node = topology.node_of[owner] == topology.node_of[rank];
            if (explained.plan.within_nodes && !same_node) continue;
            auto& bytes = owner == rank ? way.own : same_node ? way.on_node : way.between_nodes;
            bytes += common_bytes(request.tiling, request.positions, explained.realms[i]);
        }
    }
    return way;
}

void add_plan(Scene const& scene, Options const& options, Explained& explained) {
    SceneFacts const known{scene};
    explained.plan = find_strategy(explained.strategy)->plan(known.facts, options);
    explained.realms = owned_realms(explained.plan, known.facts);
    explained.way = way_of(scene, explained);
}

}  // namespace

Explained explain(Scene const& scene, std::string_view strategy) {
    auto options = scene.options;
    options.strategy = strategy;
    options.select = "rule";
    Explained explained;
    auto const ranks = run(scene, options, explained.by_rank);
    auto const& outcome = ranks.front().outcome;
    explained.strategy = outcome.strategy;
    explained.why = outcome.why;
    explained.refusal = outcome.refusal_of_strategy;
    explained.native = outcome.native;
    if (outcome.native) return explained;
    assert(outcome.verdict.code == 0);
    for (auto const& rank : ranks) {
        explained.rounds = std::max(explained.rounds, rank.rounds);
        auto& all = explained.traffic;
        all.messages += rank.traffic.messages;
        all.message_bytes += rank.traffic.message_bytes;
        all.meetings = std::max(all.meetings, rank.traffic.meetings);
        all.barriers = std::max(all.barriers, rank.traffic.barriers);
        all.reductions = std::max(all.reductions, rank.traffic.reductions);
    }
    add_plan(scene, options, explained);
    assert(explained.plan.aggregators.size() == outcome.aggregators);
    return explained;
}

std::vector<std::uint64_t> bytes_by_column(Realm const& request, Realm const& realm,
                                           std::uint64_t begin, std::uint64_t column_bytes,
                                           std::size_t count) {
    std::vector<std::uint64_t> bytes(count);
    for (auto& column : bytes) {
        column = common_bytes(request.tiling, request.positions,
                              within(realm, {begin, begin + column_bytes}));
        begin += column_bytes;
    }
    return bytes;
}

}  // namespace unisono
