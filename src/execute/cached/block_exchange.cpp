#include "execute/cached/block_exchange.hpp"

#include <cstring>

namespace unisono {
namespace {

// Marks which bytes of the blocks somebody wants.
void want(BlockMemory const& memory, BlockTable::Blocks blocks, Tiling const& view,
          Positions positions, std::size_t aggregator) {
    memory.for_parts(blocks, view, positions, aggregator, [&](std::uint64_t block, Positions part) {
        auto covered = memory.buffer(block).wanted();
        Coverage::Marker marker{covered};
        walk_runs(view, part, [&](PieceRun run) {
            run.offset -= static_cast<std::int64_t>(memory.begin_of(block));
            marker.mark(run);
        });
    });
}

class NearBlockExchange final : public BlockExchange {
public:
    explicit NearBlockExchange(BlockCall const& call) : call_{call} {}

    void put(BlockTable::Blocks const& blocks, std::size_t aggregator) override {
        store(call_.memory, blocks, call_.request, aggregator);
    }

    void ask(BlockTable::Blocks const& blocks, std::size_t aggregator) override {
        want(call_.memory, blocks, call_.request.view, call_.request.positions, aggregator);
    }

    void take(BlockTable::Blocks const& blocks, std::size_t aggregator) override {
        auto const& memory = call_.memory;
        auto const& request = call_.request;
        memory.for_parts(
            blocks, request.view, request.positions, aggregator,
            [&](std::uint64_t block, Positions part) {
                auto const from = memory.buffer(block);
                auto const there = within(request.view, part, {0, from.readable_end()});
                copy_data({request.view, there, memory.base_of(from, block)},
                          request.in_memory(there));
            });
    }

private:
    BlockCall const& call_;
};

class FarBlockExchange final : public BlockExchange {
public:
    explicit FarBlockExchange(BlockCall& call) : call_{call} {}

    void put(BlockTable::Blocks const& blocks, std::size_t aggregator) override {
        auto const bytes = own_bytes(blocks, aggregator);
        if (bytes == 0) return;
        Message message(bytes);
        pack(call_.memory, blocks, call_.request, aggregator, message.data());
        call_.send(call_.memory.aggregator(aggregator), Team::Kind::data, std::move(message));
    }

    void collect(BlockTable::Blocks const& blocks) override {
        for_own_and_far(blocks, [&](std::size_t aggregator, std::uint32_t rank, Positions positions,
                                    Tiling const& view) {
            auto const message = call_.team.receive(rank, Team::Kind::data);
            store_packed(call_.memory, blocks, view, positions, aggregator, message.data());
        });
    }

    void ask(BlockTable::Blocks const& /*blocks*/, std::size_t /*aggregator*/) override {}

    void collect_requests(BlockTable::Blocks const& blocks) override {
        for_own_and_far(blocks, [&](std::size_t aggregator, std::uint32_t /*rank*/,
                                    Positions positions, Tiling const& view) {
            want(call_.memory, blocks, view, positions, aggregator);
        });
    }

    void reply(BlockTable::Blocks const& blocks) override {
        for_own_and_far(blocks, [&](std::size_t aggregator, std::uint32_t rank, Positions positions,
                                    Tiling const& view) {
            call_.send(rank, Team::Kind::answer, answer(blocks, aggregator, positions, view));
        });
    }

    void take(BlockTable::Blocks const& blocks, std::size_t aggregator) override {
        if (own_bytes(blocks, aggregator) == 0) return;
        auto const& request = call_.request;
        auto const message =
            call_.team.receive(call_.memory.aggregator(aggregator), Team::Kind::answer);
        std::uint64_t readable_end = 0;
        std::memcpy(&readable_end, message.data(), sizeof readable_end);
        auto const* at = message.data() + sizeof readable_end;
        call_.memory.for_parts(blocks, request.view, request.positions, aggregator,
                               [&](std::uint64_t, Positions part) {
                                   part = within(request.view, part, {0, readable_end});
                                   copy_data(Packed{part.bytes()}.at(at), request.in_memory(part));
                                   at += part.bytes();
                               });
    }

private:
    [[nodiscard]] std::uint64_t own_bytes(BlockTable::Blocks blocks, std::size_t aggregator) const {
        return call_.memory.bytes_in(blocks, call_.request.view, call_.request.positions,
                                     aggregator);
    }

    // Calls use(aggregator, rank, positions, view) for what other nodes' ranks have in this rank's
    // blocks.
    template <class Use>
    void for_own_and_far(BlockTable::Blocks blocks, Use&& use) const {
        call_.memory.for_own_aggregators([&](std::size_t aggregator) {
            call_.for_far_ranks(blocks, aggregator,
                                [&](std::uint32_t rank, Positions positions, Tiling const& view) {
                                    use(aggregator, rank, positions, view);
                                });
        });
    }

    // How far in the file may be read, and the data up to there.
    [[nodiscard]] Message answer(BlockTable::Blocks blocks, std::size_t aggregator,
                                 Positions positions, Tiling const& view) const {
        auto const& memory = call_.memory;
        std::uint64_t readable_end = 0;
        Message message(sizeof readable_end + memory.bytes_in(blocks, view, positions, aggregator));
        auto* at = message.data() + sizeof readable_end;
        memory.for_parts(
            blocks, view, positions, aggregator, [&](std::uint64_t block, Positions part) {
                auto const from = memory.buffer(block);
                readable_end = from.readable_end();
                part = within(view, part, {0, readable_end});
                copy_data({view, part, memory.base_of(from, block)}, Packed{part.bytes()}.at(at));
                at += part.bytes();
            });
        std::memcpy(message.data(), &readable_end, sizeof readable_end);
        message.resize(static_cast<std::size_t>(at - message.data()));
        return message;
    }

    BlockCall& call_;
};

}  // namespace

void store(BlockMemory const& memory, BlockTable::Blocks blocks, Request const& request,
           std::size_t aggregator) {
    memory.for_parts(blocks, request.view, request.positions, aggregator,
                     [&](std::uint64_t block, Positions part) {
                         memory.buffer(block).store(request.in_memory(part), request.view, part,
                                                    memory.begin_of(block));
                     });
}

void pack(BlockMemory const& memory, BlockTable::Blocks blocks, Request const& request,
          std::size_t aggregator, std::byte* to) {
    memory.for_parts(blocks, request.view, request.positions, aggregator,
                     [&](std::uint64_t, Positions part) {
                         copy_data(request.in_memory(part), Packed{part.bytes()}.at(to));
                         to += part.bytes();
                     });
}

void store_packed(BlockMemory const& memory, BlockTable::Blocks blocks, Tiling const& view,
                  Positions positions, std::size_t aggregator, std::byte const* from) {
    memory.for_parts(blocks, view, positions, aggregator, [&](std::uint64_t block, Positions part) {
        memory.buffer(block).store(Packed{part.bytes()}.at(from), view, part,
                                   memory.begin_of(block));
        from += part.bytes();
    });
}

std::unique_ptr<BlockExchange> make_near_block_exchange(BlockCall& call) {
    return std::make_unique<NearBlockExchange>(call);
}

std::unique_ptr<BlockExchange> make_far_block_exchange(BlockCall& call) {
    return std::make_unique<FarBlockExchange>(call);
}

}  // namespace unisono
