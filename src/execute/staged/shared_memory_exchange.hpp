#pragma once

#include "execute/staged/window_exchange.hpp"

namespace unisono {

/// See make_shared_memory_exchange().
class SharedMemoryExchange : public WindowExchange {
public:
    explicit SharedMemoryExchange(StagedCall& call) : call_{call} {}

    void put(Round const& round, std::size_t aggregator) override;
    void ask(Round const& round, std::size_t aggregator) override;
    void take(Round const& round, std::size_t aggregator) override;

private:
    /// Return how many bytes that were.
    std::uint64_t put_and_mark(Round const& round, std::size_t aggregator);
    std::uint64_t put_past_caches(Round const& round, std::size_t aggregator);
    /// Marks which bytes of the window this rank has or wants.
    void mark(Round const& round, std::size_t aggregator);

    StagedCall& call_;
};

}  // namespace unisono
