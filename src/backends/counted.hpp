#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "unisono/backend.hpp"

namespace unisono {

/// What went through a backend in one direction.
struct IoCounts {
    std::atomic<std::uint64_t> lists = 0;
    std::atomic<std::uint64_t> extents = 0;  ///< contiguous in the file, within a list
    std::atomic<std::uint64_t> bytes = 0;    ///< really transferred, as far as was waited for
};
struct BackendCounts {
    bool kept = true;  ///< else only `under_way` is: somebody wants to know them
    ByDirection<IoCounts> by_direction;
    std::atomic<std::uint64_t> syncs = 0;
    /// Somebody else's, who wants to see now: calls under way that wait for the storage, in the low
    /// half, and how many have ended in the high half. May be null.
    std::atomic<std::uint64_t>* under_way = nullptr;
    /// Is told of each list before it is accessed, by whatever thread does that. May be empty.
    std::function<void(Direction, std::span<Transfer const>)> on_access;

    IoCounts& operator[](Direction direction) { return by_direction[direction]; }
};

/// A call that waits for the storage.
class UnderWay {
public:
    explicit UnderWay(BackendCounts const& counts) : number_{counts.under_way} {
        if (number_ != nullptr) number_->fetch_add(1, std::memory_order_relaxed);
    }
    ~UnderWay() {
        constexpr auto one_ended = (std::uint64_t{1} << 32) - 1;  // and no more under way
        if (number_ != nullptr) number_->fetch_add(one_ended, std::memory_order_relaxed);
    }
    UnderWay(UnderWay const&) = delete;
    UnderWay& operator=(UnderWay const&) = delete;

private:
    std::atomic<std::uint64_t>* number_;
};

/// Counts what `inner` is asked for and what it does. Cost: O(list) where counts are kept.
std::unique_ptr<Backend> make_counted_backend(std::unique_ptr<Backend> inner,
                                              std::shared_ptr<BackendCounts> counts);

}  // namespace unisono
