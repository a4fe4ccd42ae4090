#include "simulated/scale.hpp"

#include <algorithm>
#include <numeric>

#include "backends/posix.hpp"
#include "execute/collective.hpp"
#include "simulated/memory_file.hpp"
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
        : scale_{scale}, shared_memory_(scale.sizes_only ? scale.bytes_per_rank : 0) {
        options_.strategy = scale.strategy;
        options_.cb_buffer_size = scale.cb_buffer_size;
        options_.cb_nodes = scale.cb_nodes;
        options_.intra_node_aggregation =
            scale.intra_node_aggregation ? Switch::enable : Switch::disable;
    }

    ScaleResult run() {
        std::vector<std::uint32_t> labels(scale_.ranks);
        for (std::uint32_t rank = 0; rank < scale_.ranks; ++rank)
            labels[rank] = rank / scale_.ranks_per_node;
        SimulatedTeams teams{make_topology(labels), {.network = scale_.network}};
        auto const ended = teams.run(
            [&](SimulatedTeam& team, Rendezvous& rendezvous) { perform(team, rendezvous); });
        if (!ended.failures.empty()) complain(ended.failures.front());
        if (!ended.deadlock.empty()) complain("deadlock: " + ended.deadlock.front());
        result_.awaits =
            std::accumulate(ended.awaits.begin(), ended.awaits.end(), std::uint64_t{0});
        return result_;
    }

private:
    void complain(std::string const& what) {
        if (result_.wrong.empty()) result_.wrong = what;
    }

    void perform(SimulatedTeam& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file_.descriptor();
        storage.backend = make_simulated_backend(
            scale_.sizes_only ? std::make_unique<NoFile>() : make_posix_backend(storage.descriptor),
            team);
        CachedFile cache{team, rendezvous, storage};
        OnlineTuner tuner;
        GatheredFacts gathered;
        CollectiveFile const file{team,     rendezvous, storage,  layout_,
                                  options_, tuner,      gathered, &cache};
        if (scale_.sizes_only) {
            call(file, Direction::write, shared_memory_, result_.write_s);
            call(file, Direction::read, shared_memory_, result_.read_s);
        } else {
            write_and_read(file);
        }
    }

    void write_and_read(CollectiveFile const& file) {
        auto const rank = file.team.rank();
        std::vector<std::byte> memory(scale_.bytes_per_rank);
        for (std::uint64_t at = 0; at < memory.size(); ++at) memory[at] = value_at(rank, at);
        call(file, Direction::write, memory, result_.write_s);
        std::ranges::fill(memory, std::byte{0});
        call(file, Direction::read, memory, result_.read_s);
        for (std::uint64_t at = 0; at < memory.size(); ++at)
            if (memory[at] != value_at(rank, at))
                return complain("rank " + std::to_string(rank) + ", byte " + std::to_string(at));
    }

    void call(CollectiveFile const& file, Direction direction, std::vector<std::byte>& memory,
              double& slowest_s) {
        auto const block = static_cast<std::int64_t>(scale_.block_bytes);
        auto const bytes = static_cast<std::int64_t>(memory.size());
        Request const request{
            direction,
            {make_dense(scale_.block_bytes), block * file.team.rank(), block * scale_.ranks},
            {0, memory.size()},
            {make_dense(memory.size()), 0, bytes},
            reinterpret_cast<std::uintptr_t>(memory.data())};
        auto const begun_s = now_s();
        CallRecord record{now_s};
        auto const outcome = perform_collective(file, request, {}, record);
        slowest_s = std::max(slowest_s, now_s() - begun_s);
        result_.aggregators = outcome.aggregators;
        result_.messages += record.traffic.messages;
        result_.message_bytes += record.traffic.message_bytes;
        if (outcome.bytes != memory.size()) complain("some bytes were not moved");
    }

    ScaleCase const& scale_;
    std::vector<std::byte> shared_memory_;  // with sizes only
    MemoryFile file_;
    Layout layout_;
    Options options_;
    ScaleResult result_;
};

}  // namespace

ScaleResult run(ScaleCase const& scale) { return ScaleRun{scale}.run(); }

}  // namespace unisono::simulated
