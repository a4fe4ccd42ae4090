#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "exchange/agreement.hpp"
#include "exchange/call_note.hpp"

namespace unisono {

/// What nodes' leaders send each other when ranks meet: whatever it is about it has the same size
/// and says what it is, so that ranks which meet for different things notice.
struct Meeting {
    std::uint32_t rank = 0;  ///< that brings it; the first one once it is merged
    CallTag call;            ///< of that rank
    Difference difference;   ///< the first that was found; then the payload says nothing
    std::variant<Proposal, Notice, OpenNotice, SyncNotice, CallArguments, Verdict, FirstFailure>
        payload;
    std::uint32_t number = 0;   ///< of meetings between leaders, where these count them
    std::uint32_t leaders = 1;  ///< who have brought that one

    void merge(Meeting const& later) {
        leaders += later.number == number ? later.leaders : 0;
        if (difference.any()) return;
        if (!call.goes_with(later.call) || payload.index() != later.payload.index())
            difference = {rank, later.rank, call, later.call};
        else if (later.difference.any())
            difference = {rank, later.difference.other_rank, call, later.difference.other};
        else
            std::visit(
                [&](auto& mine) {
                    mine.merge(
                        *std::get_if<std::remove_reference_t<decltype(mine)>>(&later.payload));
                },
                payload);
    }
};
static_assert(std::is_trivially_copyable_v<Meeting>);

}  // namespace unisono
