#include "execute/perform.hpp"

#include "execute/direct.hpp"
#include "execute/staged/staged.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

IoResult perform_own_part(Facts const& facts, Request const& request, Storage const& storage,
                          CallRecord& record) {
    PageLock const pages{request, storage, pages_must_not_be_shared(facts)};
    record.lap(Phase::waiting);
    auto const error = pages.error();
    if (error) return {.stopped_at = error.offset, .error = error};
    return perform_direct(request, request.positions, storage, record);
}

// A rank that has to wait for another begins so long after that one has begun.
IoResult perform_in_turn(Team& team, Facts const& facts, Plan const& plan, Request const& request,
                         Storage const& storage, CallRecord& record) {
    auto const me = team.rank();
    if (!plan.waits_for.empty() && plan.waits_for[me] != me) {
        team.receive(plan.waits_for[me], Team::Kind::turn);
        record.lap(Phase::waiting);
        auto const begun_s = record[Phase::waiting];
        for (; record[Phase::waiting] - begun_s < plan.delay_s; record.lap(Phase::waiting))
            team.idle();
    }
    for (std::uint32_t rank = 0; rank < plan.waits_for.size(); ++rank)
        if (rank != me && plan.waits_for[rank] == me) team.send(rank, Team::Kind::turn, {});
    auto const result = perform_own_part(facts, request, storage, record);
    team.finish_sends(0);
    return result;
}

}  // namespace

bool prepare_cache(PlannedCall const& call, bool drain_first, CollectiveFile const& file,
                   CallRecord& record) {
    auto const cached = call.plan.way == Plan::Way::cached;
    auto const past_it = !cached && call.facts.bytes > 0;
    if (file.cache == nullptr) return !cached;
    if (past_it || drain_first) file.cache->drain(record);
    return !cached || file.cache->prepare(call.facts, call.plan, record);
}

Performed perform(PlannedCall const& call, CollectiveFile const& file, Request const& request,
                  CallRecord& record) {
    auto const& [facts, plan, alignment, write_through] = call;
    auto const& storage = file.storage;
    // Nobody is growing the file now, and in this call it grows from here on.
    if (facts.mappable && facts.direction == Direction::write)
        *storage.mmap_safe_bytes = facts.file_bytes;
    Performed result;
    if (plan.way == Plan::Way::cached)
        result = file.cache->perform(facts, write_through, request, record);
    else if (plan.way == Plan::Way::staged)
        result = perform_staged(file.team, file.rendezvous, storage, facts, alignment, plan,
                                request, record);
    else
        result.mine = perform_in_turn(file.team, facts, plan, request, storage, record);
    *storage.mmap_safe_bytes = 0;
    return result;
}

}  // namespace unisono
