#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace unisono {

/// A collective call of a file, as ranks compare it. What its numbers stand for is the business of
/// who enters calls (interpose/operations.hpp).
struct CallTag {
    std::uint32_t file = 0;       ///< the same on all ranks of a team
    std::uint16_t operation = 0;  ///< for messages: may differ where calls go together
    std::uint16_t matching = 0;   ///< of two ranks' calls that go together it is equal

    [[nodiscard]] bool goes_with(CallTag other) const {
        return file == other.file && matching == other.matching;
    }
    friend bool operator==(CallTag const&, CallTag const&) = default;
};

/// A rank that is at a meeting for another call than the first rank.
struct Difference {
    std::uint32_t first_rank = 0;
    std::uint32_t other_rank = 0;  ///< the same: there is no difference
    CallTag first;
    CallTag other;

    [[nodiscard]] bool any() const { return first_rank != other_rank; }
};

/// Ranks meet for calls that do not go together; thrown on all of them. Nothing was merged.
struct CallsDiffer : std::exception {
    explicit CallsDiffer(Difference const& found) : difference{found} {}
    [[nodiscard]] char const* what() const noexcept override {
        return "ranks are in different collective calls";
    }
    Difference difference;
};

/// Where a rank is, as others saw it at some moment.
struct CallSeen {
    static constexpr std::uint64_t no_offset = ~std::uint64_t{0};

    CallTag tag;               ///< of the call, or of the last one
    std::uint64_t number = 0;  ///< of the file's collective calls; 0: there was none yet
    std::uint64_t offset = 0;  ///< in etypes: as given, or the file pointer
    bool inside = false;
    bool accesses = false;       ///< the file, or waits for its turn to
    std::uint64_t progress = 0;  ///< grows with all that it does

    friend bool operator==(CallSeen const&, CallSeen const&) = default;
};

/// What a rank says of itself in memory that its node's ranks share, for whoever looks into why
/// there is no progress. One rank writes, without order: it costs a few stores to its own cache
/// line. A reader may see parts of two calls while the rank is not stuck.
struct alignas(64) CallNote {
    std::atomic<CallTag> tag;
    std::atomic<std::uint64_t> number;
    std::atomic<std::uint64_t> offset;
    std::atomic<bool> inside;
    std::atomic<std::uint64_t> messages;  ///< sent and received
    std::atomic<std::uint64_t> accesses;  ///< as BackendCounts::under_way has it

    void enter(CallTag call, std::uint64_t call_number, std::uint64_t at) {
        tag.store(call, std::memory_order_relaxed);
        number.store(call_number, std::memory_order_relaxed);
        offset.store(at, std::memory_order_relaxed);
        inside.store(true, std::memory_order_relaxed);
    }
    void leave() { inside.store(false, std::memory_order_relaxed); }
    /// As it was: ranks compare their last calls, and wait for requests in orders of their own.
    void return_to(CallSeen const& earlier) {
        enter(earlier.tag, earlier.number, earlier.offset);
        leave();
    }
    void note_message() {
        constexpr auto any_order = std::memory_order_relaxed;
        messages.store(messages.load(any_order) + 1, any_order);
    }
};
static_assert(std::atomic<CallTag>::is_always_lock_free);

}  // namespace unisono
