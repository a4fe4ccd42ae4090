#include "simulated/scale.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "access/cursor.hpp"
#include "backends/posix.hpp"
#include "execute/collective.hpp"
#include "simulated/memory_file.hpp"
#include "simulated/patterns.hpp"
#include "simulated/read_backend.hpp"
#include "simulated/romio.hpp"
#include "simulated/served_backend.hpp"
#include "simulated/simulated_backend.hpp"

namespace unisono::simulated {
namespace {

std::byte value_at(std::uint32_t rank, std::uint64_t position) {
    return static_cast<std::byte>(1 + (rank * 31 + position + position / 251) % 255);
}

/// A file that keeps nothing: reads leave memory as it is.
class NoFile final : public Backend {
public:
    [[nodiscard]] std::string_view name() const override { return "none"; }
    IoResult perform(Direction /*direction*/, std::span<Transfer const> list) override {
        IoResult all;
        for (auto const& transfer : list) all.bytes += transfer.bytes;
        return all;
    }
    Error sync() override { return {}; }
};

class ScaleRun {
public:
    explicit ScaleRun(ScaleCase const& scale)
        : scale_{scale},
          calls_{scale.calls.empty() ? calls_of(scale.pattern, scale.ranks, scale.bytes_per_rank)
                                     : scale.calls},
          layout_{layout_of(scale.network)} {
        if (scale.strategy == "romio") {
            if (scale.cb_buffer_size > 0)
                romio_.emplace(scale.cb_buffer_size);
            else
                romio_.emplace();
        }
        options_.strategy = romio_ || by_pieces() ? "auto" : scale.strategy;
        options_.cb_buffer_size = scale.cb_buffer_size;
        options_.cb_nodes = scale.cb_nodes;
        options_.as_many_groups_as_servers = scale.as_many_groups_as_servers;
        options_.intra_node_aggregation = scale.intra_node_aggregation;
        std::uint64_t most_bytes = 0;
        for (auto const& calls : calls_) {
            result_.bytes += calls.calls * calls.first.bytes();
            most_bytes = std::max(most_bytes, calls.first.bytes());
        }
        result_.calls = calls_.front().calls;
        shared_memory_.resize(most_bytes);
    }

    ScaleResult run() {
        SimulatedTeams teams{topology_of(scale_), {.network = scale_.network}};
        if (scale_.servers) teams.serve_reads(*scale_.servers);
        teams.trace = scale_.trace;
        if (scale_.on_begin) scale_.on_begin();
        auto const ended = teams.run(
            [&](SimulatedTeam& team, Rendezvous& rendezvous) { perform(team, rendezvous); });
        if (!ended.failures.empty()) complain(ended.failures.front());
        if (!ended.deadlock.empty()) complain("deadlock: " + ended.deadlock.front());
        result_.awaits =
            std::accumulate(ended.awaits.begin(), ended.awaits.end(), std::uint64_t{0});
        result_.node_memory_bytes = teams.node_memory_bytes();
        if (scale_.servers) result_.served = teams.served_reads().counts();
        return result_;
    }

private:
    void complain(std::string const& what) {
        if (result_.wrong.empty()) result_.wrong = what;
    }

    [[nodiscard]] bool by_pieces() const { return scale_.strategy == "pieces"; }
    [[nodiscard]] bool moves_bytes() const {
        return !scale_.sizes_only && !romio_ && !scale_.servers;
    }

    std::unique_ptr<Backend> backend_of(SimulatedTeam& team) const {
        if (scale_.servers) return make_read_backend(team, layout_);
        auto inner =
            moves_bytes() ? make_posix_backend(file_.descriptor()) : std::make_unique<NoFile>();
        return scale_.network.servers == 0 ? make_simulated_backend(std::move(inner), team)
                                           : make_served_backend(std::move(inner), team, layout_);
    }

    void perform(SimulatedTeam& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file_.descriptor();
        storage.backend = backend_of(team);
        CachedFile cache{team, rendezvous, storage};
        OnlineTuner tuner;
        GatheredFacts gathered;
        CollectiveFile const file{team,     rendezvous, storage,  layout_,
                                  options_, tuner,      gathered, &cache};
        auto const messages_before = team.messages_to_it();
        if (!scale_.servers)
            result_.write_s = std::max(result_.write_s, time(team, file, Direction::write));
        result_.fan_in =
            std::max(result_.fan_in, (team.messages_to_it() - messages_before) / result_.calls);
        result_.read_s = std::max(result_.read_s, time(team, file, Direction::read));
    }

    double time(SimulatedTeam& team, CollectiveFile const& file, Direction direction) {
        team.all_ranks_take(0);
        auto const begun_s = now_s();
        for (std::uint64_t call = 0; call < result_.calls; ++call)
            perform(team, file, direction, call);
        CallRecord closing{now_s};
        if (!romio_ && direction == Direction::write) file.cache->drain(closing);
        return now_s() - begun_s;
    }

    void perform(SimulatedTeam& team, CollectiveFile const& file, Direction direction,
                 std::uint64_t number) {
        auto const& its = calls_[team.rank()];
        auto const& first = its.first;
        auto const bytes = first.bytes();
        auto view = first.tiling;
        view.origin += static_cast<std::int64_t>(its.shift_of(number));
        std::vector<std::byte> own(moves_bytes() ? bytes : 0);
        auto const value = [&](std::uint64_t at) {
            return value_at(team.rank() + 7 * static_cast<std::uint32_t>(number), at);
        };
        if (direction == Direction::write)
            for (std::uint64_t at = 0; at < own.size(); ++at) own[at] = value(at);
        auto& memory = own.empty() ? shared_memory_ : own;
        Request const request{direction,
                              view,
                              first.positions,
                              {make_dense(bytes), 0, static_cast<std::int64_t>(bytes)},
                              reinterpret_cast<std::uintptr_t>(memory.data())};
        auto const before = team.traffic();
        if (romio_)
            romio_->perform(team, *file.storage.backend, request);
        else if (by_pieces())
            perform_by_pieces(*file.storage.backend, request);
        else
            perform(file, request);
        auto const traffic = team.traffic() - before;
        result_.messages += traffic.messages;
        if (direction == Direction::write) result_.write_messages += traffic.messages;
        result_.message_bytes += traffic.message_bytes;
        if (team.rank() == 0) result_.reduced_bytes += traffic.reduced_bytes;
        if (direction == Direction::write) return;
        for (std::uint64_t at = 0; at < own.size(); ++at)
            if (own[at] != value(at))
                return complain("rank " + std::to_string(team.rank()) + ", call " +
                                std::to_string(number) + ", byte " + std::to_string(at));
    }

    static void perform_by_pieces(Backend& file, Request const& request) {
        Cursor cursor{request.view, request.positions};
        std::array<PieceRun, 16> batch;
        while (auto const runs = cursor.next(batch))
            for (auto const& run : std::span{batch}.first(runs))
                for (std::uint64_t i = 0; i < run.count; ++i) {
                    auto const at = run.offset + static_cast<std::int64_t>(i) * run.stride;
                    Transfer const piece{static_cast<std::uint64_t>(at), nullptr, run.bytes};
                    file.perform(request.direction, {&piece, 1});
                }
    }

    void perform(CollectiveFile const& file, Request const& request) {
        CallRecord record{now_s};
        auto const outcome = perform_collective(file, request, {}, record);
        result_.aggregators = outcome.aggregators;
        result_.chosen = outcome.strategy;
        if (file.team.rank() == 0) result_.rounds += record.rounds;
        if (outcome.bytes != request.positions.bytes()) complain("some bytes were not moved");
    }

    ScaleCase const& scale_;
    std::vector<ScaleCalls> calls_;  // by rank
    std::optional<RomioModel> romio_;
    std::vector<std::byte> shared_memory_;  // where bytes do not matter
    MemoryFile file_;
    Layout layout_;
    Options options_;
    ScaleResult result_;
};

}  // namespace

Topology topology_of(ScaleCase const& scale) {
    std::vector<std::uint32_t> labels(scale.ranks);
    for (std::uint32_t rank = 0; rank < scale.ranks; ++rank)
        labels[rank] = rank / scale.ranks_per_node;
    return make_topology(labels);
}

Layout layout_of(Network const& network) {
    if (network.servers == 0) return {};
    std::vector<std::uint32_t> servers(network.servers);
    std::iota(servers.begin(), servers.end(), 0);
    return Layout::of("simulated", {Striping::round_robin(network.stripe_bytes, servers)});
}

ScaleResult run(ScaleCase const& scale) { return ScaleRun{scale}.run(); }

}  // namespace unisono::simulated
