#include "execute/staged/staged.hpp"

#include <fcntl.h>

#include <cerrno>

#include "execute/direct.hpp"
#include "execute/staged/shared_memory_exchange.hpp"
#include "execute/staged/window_exchange.hpp"
#include "execute/staged/window_io.hpp"

namespace unisono {
namespace {

/// The rounds of a staged call on one rank: exchange and file I/O in turn.
class Rounds {
public:
    explicit Rounds(StagedCall& call)
        : call_{call},
          exchange_{call, make_shared_memory_exchange(call),
                    call.node_aggregated() ? make_node_aggregated_exchange(call)
                                           : make_message_exchange(call)} {
        for (auto const aggregator : call.own_aggregators()) own_.emplace_back(call, aggregator);
    }

    Performed run() {
        if (!call_.any_round_left()) return {};
        if (call_.request.direction == Direction::write)
            write();
        else if (call_.plan.prefetch_then_read)
            prefetch_then_read();
        else
            read();
        call_.team.finish_sends(0);
        call_.record.lap(Phase::exchange);
        return {result_, agreed_};
    }

private:
    void write();
    [[nodiscard]] bool fills_before_writing() const;
    void start_writing(Round const& round);

    void read();
    void begin_reading(Round const& round);
    void learn_what_is_wanted(Round const& round);
    void start_reading(Round const& round);
    void take_answers();
    void prefetch_then_read();
    void read_for_itself(Round const& round, std::size_t aggregator);
    void keep_own_part(Round const& round, WindowIo& io);

    StagedCall& call_;
    NearAndFar<StagedCall, Round> exchange_;
    std::vector<WindowIo> own_;
    std::optional<Round> answered_;  // and its answers to this rank not taken
    IoResult result_;
    std::optional<Verdict> agreed_;
};

// ---- writes

// Pieces with holes go through a mapping where they can, and only what has been in the file for a
// while may (backends/mapped.hpp). So one rank of each node makes the file as long as the call
// will, before the first meeting: by an allocation, which never shortens it and changes no byte.
void grow_file(StagedCall const& call) {
    auto const me = call.team.rank();
    if (call.team.topology().ranks_near(me).front() != me) return;
    auto const last = static_cast<off_t>(call.facts.touched.end - 1);
    while (fallocate(call.storage.descriptor, 0, last, 1) != 0 && errno == EINTR) {
    }  // any other error comes back when that byte is written
}

// After the meeting: mappings may write as far as the file goes now.
void note_file_size(StagedCall const& call) {
    auto const end = call.facts.touched.end;
    if (file_bytes_of(call.storage) >= end) *call.storage.mmap_safe_bytes = end;
}

bool grows_first(Facts const& facts) {
    return facts.mappable && facts.touched.end > facts.file_bytes &&
           facts.bytes < facts.touched.bytes();
}

// Where file I/O takes this rank's time, writers of one file wait for its lock in the kernel. So
// every other aggregator fills the next windows first, while the others write, and then writes
// while these fill theirs (docs/lab/tried.md).
bool Rounds::fills_before_writing() const {
    return !call_.storage.backend->overlaps() && !own_.empty() && own_[0].aggregator() % 2 == 1;
}

void Rounds::start_writing(Round const& round) {
    for (auto& io : own_) io.start_writing(round);
    call_.record.lap(Phase::file);
}

// A round's window is written while the next one is filled. What goes to other memories is a round
// ahead: links go on while ranks wait for what comes on them.
void Rounds::write() {
    auto round = call_.next_round();
    std::optional<Round> full;  // and not written
    exchange_.send(round);
    while (true) {
        auto next = round.last ? Round{} : call_.next_round();
        if (!round.last) exchange_.send(next);
        auto const grows = round.number == 0 && grows_first(call_.facts);
        exchange_.complete(round);
        if (full) start_writing(*full);
        if (grows) grow_file(call_);
        // The other side's windows are filled after this meeting: their writes must have ended.
        for (auto& io : own_) result_.add(io.finish_writing_before(round));
        call_.record.lap(Phase::file);
        call_.barrier();
        if (grows) note_file_size(call_);
        auto const last = round.last;
        if (!last && fills_before_writing())
            full = std::move(round);
        else
            start_writing(round);
        call_.end_round();
        if (last) break;
        round = std::move(next);
    }
    for (auto& io : own_) result_.add(io.finish_all());
}

// ---- reads

// The next round's window is read while this one's is handed out. All ranks ask for the next
// round before they hand out this one, also those whose backend cannot read meanwhile: else some
// would wait for answers from ranks that wait for their questions. These are on their way while
// this round's window is read. Its answers may come while the next window is read; they are taken
// before all ranks meet, since a rank that waits in MPI receives none.
void Rounds::read() {
    auto round = call_.next_round();
    begin_reading(round);
    auto const ahead = call_.storage.backend->overlaps();
    while (true) {
        if (round.last || !call_.knows_next_round()) take_answers();
        auto next = round.last ? Round{} : call_.next_round();
        if (!round.last && !call_.exact_reads()) exchange_.request(next);
        for (auto& io : own_) result_.add(io.finish_reading(round));
        call_.record.lap(Phase::file);
        // After it, nobody uses the other side's windows any more; and nothing can fail any more
        // after the last one.
        if (round.last)
            agreed_ = agree_on(result_, call_.team, call_.rendezvous, call_.record);
        else
            call_.barrier();
        if (!round.last) learn_what_is_wanted(next);
        if (!round.last && ahead) start_reading(next);
        exchange_.answer(round);
        take_answers();
        if (!round.last && !ahead) start_reading(next);
        call_.end_round();
        auto const last = round.last;
        answered_ = std::exchange(round, std::move(next));
        if (last) break;
    }
    take_answers();
}

void Rounds::take_answers() {
    if (answered_) exchange_.take_answers(*answered_);
    answered_.reset();
}

// While the first requests come there is nothing else to do. (In later rounds what is read would be
// in the way of the answers.)
void Rounds::begin_reading(Round const& round) {
    if (call_.exact_reads()) {
        learn_what_is_wanted(round);
        start_reading(round);
        return;
    }
    exchange_.request(round);
    start_reading(round);
    learn_what_is_wanted(round);
}

// What is wanted exactly is marked in the windows, which must be free.
void Rounds::learn_what_is_wanted(Round const& round) {
    if (call_.exact_reads()) exchange_.request(round);
    exchange_.collect_requests(round);
    if (call_.exact_reads()) call_.barrier();
}

void Rounds::start_reading(Round const& round) {
    for (auto& io : own_) io.start_reading(round);
    call_.record.lap(Phase::file);
}

// The direct second phase: every rank reads for itself what it has not read as an aggregator. What
// aggregators read for others warms the servers' caches and is thrown away, its errors with it.
void Rounds::prefetch_then_read() {
    while (call_.any_round_left()) {
        auto const round = call_.next_round();
        if (call_.exact_reads()) learn_what_is_wanted(round);
        start_reading(round);
        Verdict nothing;
        call_.rendezvous.meet(nothing);  // all have issued their requests
        call_.record.lap(Phase::waiting);
        call_.for_each_window(round, [&](std::size_t aggregator) {
            if (call_.plan.aggregators[aggregator] != call_.team.rank())
                read_for_itself(round, aggregator);
        });
        for (auto& io : own_) keep_own_part(round, io);
        call_.end_round();
    }
}

void Rounds::read_for_itself(Round const& round, std::size_t aggregator) {
    call_.for_own_parts(
        round, aggregator, round.bytes(aggregator), [&](Positions part, std::uint64_t) {
            result_.add(perform_direct(call_.request, part, call_.storage, call_.record));
        });
}

// A window that is not all there is read once more: the rank's own bytes may be, or have an error.
void Rounds::keep_own_part(Round const& round, WindowIo& io) {
    auto const aggregator = io.aggregator();
    io.finish_reading(round);
    call_.record.lap(Phase::file);
    if (round.empty(aggregator)) return;
    if (call_.valid_bytes(round, aggregator) < round.bytes(aggregator))
        return read_for_itself(round, aggregator);
    SharedMemoryExchange{call_}.take(round, aggregator);
    call_.record.lap(Phase::copying);
}

// Nothing is moved by anybody. The ranks that lack the windows say why.
IoResult without_windows(StagedCall const& call) {
    auto const begin = call.facts.touched.begin;
    IoResult nothing{.stopped_at = begin};
    if (call.lacks_windows()) nothing.error = {ENOMEM, "getting memory", begin};
    return nothing;
}

}  // namespace

Performed perform_staged(Team& team, Rendezvous& rendezvous, Storage const& storage,
                         Facts const& facts, std::uint64_t alignment, Plan const& plan,
                         Request const& request, CallRecord& record) {
    StagedCall call{{team, rendezvous, storage, facts, plan, request, record}, alignment};
    if (call.windows_missing()) return {without_windows(call)};
    return Rounds{call}.run();
}

}  // namespace unisono
