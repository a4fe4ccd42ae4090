#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "exchange/agreement.hpp"
#include "exchange/call_note.hpp"

namespace unisono {

/// What nodes' leaders send each other when ranks meet: whatever it is about it has the same size
/// and says what it is, so that ranks which meet for different things notice.
struct Meeting {
    static constexpr std::size_t payload_bytes = 192;

    std::uint32_t kind = 0;  ///< of what it is about
    std::uint32_t rank = 0;  ///< that brings it; the first one once it is merged
    CallTag call;            ///< of that rank
    Difference difference;   ///< the first that was found; then the payload says nothing
    std::array<std::byte, payload_bytes> payload{};

    Meeting() = default;
    template <class Payload>
    Meeting(Payload const& brought, std::uint32_t by, CallTag for_call, Difference const& on_node)
        : kind{kind_of<Payload>}, rank{by}, call{for_call}, difference{on_node} {
        std::memcpy(payload.data(), &brought, sizeof brought);
    }

    template <class Payload>
    void take(Payload& merged) const {
        std::memcpy(static_cast<void*>(&merged), payload.data(), sizeof merged);
    }

    void merge(Meeting const& later) {
        if (difference.any()) return;
        if (!call.goes_with(later.call) || kind != later.kind)
            difference = {rank, later.rank, call, later.call};
        else if (later.difference.any())
            difference = {rank, later.difference.other_rank, call, later.difference.other};
        else
            merge_payload(later, Kinds{});
    }

private:
    template <class... Payloads>
    struct OneOf {
        template <class Payload>
        static constexpr auto index = [] {
            std::uint32_t at = 0;
            (void)((std::is_same_v<Payload, Payloads> || (++at, false)) || ...);
            static_assert((std::is_same_v<Payload, Payloads> || ...));
            return at;
        }();
    };
    using Kinds =
        OneOf<Proposal, Notice, OpenNotice, SyncNotice, CallArguments, Verdict, FirstFailure>;
    template <class Payload>
    static constexpr auto kind_of = Kinds::index<Payload>;

    template <class... Payloads>
    void merge_payload(Meeting const& later, OneOf<Payloads...>) {
        ((kind == kind_of<Payloads> && (merge_as<Payloads>(later), true)) || ...);
    }

    template <class Payload>
    void merge_as(Meeting const& later) {
        Payload mine, others;
        take(mine);
        later.take(others);
        mine.merge(others);
        std::memcpy(payload.data(), &mine, sizeof mine);
    }
};

}  // namespace unisono
