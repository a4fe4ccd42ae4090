#include "execute/agree.hpp"

#include "access/fingerprint.hpp"
#include "execute/direct.hpp"
#include "execute/through_host.hpp"

namespace unisono {
namespace {

// The native library must not be measured past the end of the file, and only bytes that are there
// can be written through a mapping. Else nobody asks: it is a system call.
bool wants_file_bytes(Request const& request, Storage const& storage, Options const& options) {
    if (request.positions.empty()) return false;
    return request.direction == Direction::write ? storage.mappable_write
                                                 : OnlineTuner::wanted(options);
}

// What was done ahead may have made the file longer, and needs no mapping.
std::uint64_t file_bytes_before(Proposal const& mine, Storage const& storage) {
    return mine.selection.done_ahead ? 0 : file_bytes_of(storage);
}

// All that this rank asks for was moved.
bool do_ahead(CollectiveFile const& file, Request const& request, Proposal const& mine,
              CallRecord& record) {
    auto const refused = mine.objection.refusal != 0 || mine.objection.must_be_native ||
                         mine.since_view.refused != 0;
    auto const cached = file.cache != nullptr && file.cache->in_use();
    auto const writes = request.direction == Direction::write;
    auto const shares_pages =
        writes && file.storage.page_cached && file.team.topology().nodes() > 1;
    // Ranks that do not agree write once more: over what others may have written meanwhile.
    auto const atomic = writes && file.storage.range_locks != nullptr;
    auto const checked = file.options.check != "none";  // nothing is moved before that
    if (file.ahead == nullptr || refused || cached || shares_pages || atomic || checked ||
        OnlineTuner::wanted(file.options))
        return false;
    if (!file.ahead->may_try(request)) return false;
    return perform_direct(request, request.positions, file.storage, record).bytes ==
           request.positions.bytes();
}

Proposal propose(Request const& request, Storage const& storage) {
    Proposal mine;
    mine.storage = {.mappable = storage.mappable_write,
                    .local = storage.local,
                    .page_cached = storage.page_cached,
                    .write_only = storage.write_only,
                    .read_only = storage.read_only,
                    .links = storage.servers_seen->links(request.direction)};
    if (request.positions.empty()) return mine;
    auto const loops = loops_of(request.view, request.positions);
    mine.asked = {.touched = touched(request.view, request.positions),
                  .bytes = request.positions.bytes(),
                  .pieces = piece_estimate(request.view, request.positions),
                  .alignment = alignment_of(request.view, request.positions),
                  .loops = fingerprint(loops),
                  .request_hash = fingerprint(request.view, request.positions),
                  .ascending = request.view.ascending()};
    return mine;
}

}  // namespace

Proposal agree_before(CollectiveFile const& file, Request const& request, CallerFacts const& caller,
                      CallRecord& record) {
    auto mine = propose(request, file.storage);
    mine.objection = caller.objection;
    mine.since_view = caller.since_view;
    mine.asked.request_hash += caller.file_hash;
    mine.selection.native_ready = caller.native_ready;
    mine.selection.last_seconds = static_cast<float>(file.tuner.last_seconds());
    mine.device = {.host_windows = host_windows(request, file.options),
                   .any = request.device != nullptr};
    file.gathered.announce(mine, request);
    if (file.cache != nullptr) mine.cache = file.cache->needs(request, file.options, record);
    mine.cache.possible = file.cache != nullptr && file.storage.descriptor >= 0;
    record.lap(Phase::other);
    mine.selection.done_ahead = do_ahead(file, request, mine, record);
    if (wants_file_bytes(request, file.storage, file.options))
        mine.storage.file_bytes =
            caller.file_bytes ? *caller.file_bytes : file_bytes_before(mine, file.storage);
    record.lap(Phase::file);
    file.rendezvous.meet(mine);
    record.lap(Phase::arrival);
    return mine;
}

Facts facts_of(Proposal const& agreed, CollectiveFile const& file, Request const& request) {
    auto const& asked = agreed.asked;
    auto const regular = asked.loops != Hash128{};
    return {.direction = request.direction,
            .topology = &file.team.topology(),
            .layout = &file.layout,
            .touched = asked.bytes == 0 ? Extent{} : asked.touched,
            .bytes = asked.bytes,
            .pieces = asked.pieces,
            .rank_ordered = asked.rank_ordered,
            .ascending = asked.ascending,
            .local_storage = agreed.storage.local,
            .page_cached = agreed.storage.page_cached,
            .mappable = agreed.storage.mappable,
            .file_bytes = agreed.storage.file_bytes,
            .native_ready = agreed.selection.native_ready,
            .cacheable = agreed.cache.possible,
            .write_only = agreed.storage.write_only,
            .read_only = agreed.storage.read_only,
            .links = agreed.storage.links,
            .repeats = agreed.cache.repeats,
            .request_hash = asked.request_hash,
            .loops = regular ? loops_of(request.view, request.positions) : Loops{}};
}

Verdict agree_after(CollectiveFile const& file, Performed const& performed, CallRecord& record) {
    return performed.agreed ? *performed.agreed
                            : agree_on(performed.mine, file.team, file.rendezvous, record);
}

}  // namespace unisono
