#include "execute/cached/cached_file.hpp"

#include <algorithm>
#include <utility>

#include "execute/direct.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t offset_most = INT64_MAX;
// The first window that is open for deposits (deposit.cpp).
constexpr std::uint64_t first_window_calls = 8;

}  // namespace

CachedFile::CachedFile(Team& team, Rendezvous& rendezvous, Storage const& storage,
                       std::uint32_t number)
    : team_{team},
      rendezvous_{rendezvous},
      storage_{storage},
      memory_{team},
      deferred_{storage, memory_, team.rank()},
      newer_{team, memory_},
      reader_{team, memory_, storage},
      mail_{team, memory_, views_, number},
      own_end_{storage},
      window_calls_{first_window_calls} {}

CachedFile::~CachedFile() = default;

bool CachedFile::prepare_bypass() {
    std::lock_guard const lock{mutex_};
    if (written_) return false;
    may_be_stale_ = in_use_;
    return true;
}

CacheNeeds CachedFile::needs(Request const& request, Options const& options,
                             CallRecord const& record) {
    std::lock_guard const lock{mutex_};
    last_calls_.set_soon(options.write_behind_s);
    auto const call = LastCalls::look_at(request, record);
    CacheNeeds needs{.drain = may_be_stale_,
                     .misfit = misfit_,
                     .advance = last_calls_.advance_of(request.direction, call),
                     .repeats = last_calls_.repeats_with(request.direction, call)};
    if (!several_nodes()) return needs;
    auto const ranks = team_.topology().ranks_near(team_.rank()).size();
    auto const more_bytes = request.direction == Direction::write
                                ? OwnWrites::memory_bytes_for(request.view, request.positions)
                                : 0;
    auto const most_bytes = options.pool_bytes / ranks;
    auto const left_bytes = most_bytes - std::min(most_bytes, newer_.own().memory_bytes());
    needs.drain = needs.drain || newer_.own().any_in_file();
    needs.write_through = !storage_.write_only && more_bytes > left_bytes;
    if (more_bytes != 0) needs.calls_in_memory = left_bytes / more_bytes;
    return needs;
}

bool CachedFile::prepare(Facts const& facts, Plan const& plan, CallRecord& record) {
    if (!memory_.suits(plan)) {
        drain(record);
        std::lock_guard const lock{mutex_};
        memory_.reset(plan);
        views_ = {};  // which the aggregators before it have
    }
    flush_online_ = plan.flush_online;
    unsaved_bytes_most_ = plan.unsaved_bytes;
    unsaved_s_most_ = plan.unsaved_s;
    {
        std::lock_guard const lock{mutex_};
        clear(memory_.release(reader_.end_turns()), record);
    }
    return reserve(memory_.blocks_of(facts.touched));
}

// Makes memory for the buffers that these blocks need.
bool CachedFile::reserve(BlockTable::Blocks blocks) {
    auto more = memory_.get(blocks);
    if (!more) {  // all over: what there is cannot be kept in step with the other nodes
        CallRecord record;
        drain(record);
    }
    std::lock_guard const lock{mutex_};
    if (!more) {
        memory_.reset({});
        return false;
    }
    memory_.add(*std::move(more), blocks);
    return true;
}

Performed CachedFile::perform(Facts const& facts, bool write_through, Request const& request,
                              CallRecord& record) {
    std::lock_guard const lock{mutex_};
    BlockCall call{team_, memory_, views_, request, record};
    begin(call);
    NearAndFar<BlockCall, BlockTable::Blocks> exchange{call, make_near_block_exchange(call),
                                                       make_far_block_exchange(call)};
    auto const writes = request.direction == Direction::write;
    auto const count = memory_.aggregators().size();
    auto const [first, last] = memory_.blocks_of(facts.touched);
    // Half of the pool a round, so that the other half can be written meanwhile.
    auto const round_blocks = std::max<std::uint64_t>(count, memory_.room() / count / 2 * count);
    IoResult result;
    std::optional<Verdict> agreed;
    for (auto next = first; next < last;) {
        BlockTable::Blocks const blocks{next, std::min(last, next + round_blocks)};
        next = blocks.last;
        clear(memory_.place(blocks), record);
        if (writes) {
            for (auto block = blocks.first; block < blocks.last; ++block)
                if (memory_.is_mine(block)) deferred_.note_dirty(block, now(record));
            exchange.fill(blocks);
        } else {
            exchange.ask(blocks);
            barrier(record);
            result.add(read_missing(blocks, facts.touched));
            record.lap(Phase::file);
            if (next == last)  // nothing can fail any more
                agreed = agree_on(result, team_, rendezvous_, record);
            else
                barrier(record);
            exchange.hand_out(blocks);
        }
        ++record.rounds;
        // Answers have come to all; nobody waits for them while this rank reads on.
        team_.finish_sends(writes ? std::exchange(call.sent, 0) : 0);
        if (next == last) break;
        barrier(record);
        if (writes) start_writes(record, calls_dirty_usually);
        record.lap(Phase::file);
    }
    if (writes) result.add(finish_write(facts, write_through, request, record));
    team_.finish_sends(0);
    record.lap(Phase::exchange);
    return {result, agreed};
}

void CachedFile::begin(BlockCall& call) {
    assert(!window_open_);
    in_use_ = true;
    ++call_;
    if (call.request.direction == Direction::write) {
        deferred_.reap(/*all=*/false);
        call.record.lap(Phase::file);
        written_ = true;
    }
    last_calls_.note(call.request.direction, LastCalls::look_at(call.request, call.record));
    if (!several_nodes()) return;
    auto const mine = views_.interval_of(call.request.view, call.request.positions);
    call.intervals = team_.gather_values(std::span<ViewInterval const>{&mine, 1});
    views_.learn(team_, memory_.aggregators(), call.intervals, call.request.view.shape);
    call.record.lap(Phase::exchange);
}

void CachedFile::barrier(CallRecord& record) {
    rendezvous_.barrier();
    record.lap(Phase::waiting);
}

// The file's size and, where a rank could not keep its own copy, its contents are right at once.
IoResult CachedFile::finish_write(Facts const& facts, bool write_through, Request const& request,
                                  CallRecord& record) {
    auto const result = grow_file(facts, request, record);
    if (write_through) {
        barrier(record);
        deferred_.flush_all();
        written_through_ = true;
    } else if (keeps_own_writes()) {
        newer_.remember(request);
    }
    record.lap(Phase::file);
    return result;
}

// The rank that has the call's last byte writes it when the file ends before it: unlike ftruncate
// that cannot cut off what others write meanwhile.
IoResult CachedFile::grow_file(Facts const& facts, Request const& request,
                               CallRecord& record) const {
    auto const& [begin, end] = request.positions;
    if (begin == end || touched(request.view, {begin, end}).end != facts.touched.end) return {};
    if (file_bytes_of(storage_) >= facts.touched.end) return {};
    return perform_direct(request, {end - 1, end}, storage_, record);
}

void CachedFile::finish_call(Facts const& facts, CallRecord& record) {
    std::lock_guard const lock{mutex_};
    if (std::exchange(written_through_, false)) {
        if (!newer_.own().any_in_file()) newer_.own().clear();
    } else if (facts.direction == Direction::write && !window_open_) {
        unsaved_elsewhere_ += facts.bytes;
        if (too_much_unsaved(windows_)) save();
    }
    start_writes(record, calls_dirty_usually);
    record.lap(Phase::file);
}

void CachedFile::start_writes(CallRecord const& record, std::uint64_t calls_dirty_at_most) {
    if (flush_online_)
        deferred_.start(now(record), {.calls = calls_dirty_at_most, .s = unsaved_s_most_});
}

// What the file may lack, at most. Equal on all ranks, as long as they have agreed.
std::uint64_t CachedFile::unsaved_with(std::optional<Windows> const& windows) const {
    if (!windows) return unsaved_elsewhere_;
    auto const begin = memory_.begin_of(windows->last_but_one);
    return unsaved_elsewhere_ + std::max(begin, windows->written_end) - begin;
}

bool CachedFile::too_much_unsaved(std::optional<Windows> const& windows) const {
    return unsaved_bytes_most_ != 0 && unsaved_with(windows) > unsaved_bytes_most_;
}

// Writes all that ranks have put into this one's blocks.
void CachedFile::save() {
    deferred_.flush_all();
    unsaved_elsewhere_ = 0;
    windows_.reset();
}

// Reads what is wanted of this rank's blocks and not there yet: not a byte more.
IoResult CachedFile::read_missing(BlockTable::Blocks blocks, Extent asked) {
    std::vector<Transfer> list;
    memory_.for_own_buffers(blocks, [&](std::uint64_t block, BlockBuffer const& from) {
        auto const range = intersect(asked, memory_.extent_of(block));
        for (auto const& [begin, end] : from.take_missing(memory_.within_block(range, block)))
            list.push_back({memory_.begin_of(block) + begin, from.data() + begin, end - begin});
    });
    IoResult result;
    if (!list.empty()) result = storage_.backend->perform(Direction::read, list);
    for (auto const& [offset, at, bytes] : list) {
        auto const block = memory_.block_at(offset);
        Extent const read{offset, std::min(offset + bytes, result.stopped_at)};
        if (read.begin < read.end)
            memory_.buffer(block).mark_valid(memory_.within_block(read, block));
    }
    auto const readable_end = std::min(result.stopped_at, offset_most);
    memory_.for_own_buffers(blocks, [&](std::uint64_t, BlockBuffer const& buffer) {
        buffer.set_readable_end(readable_end);
    });
    return result;
}

// Writes what is dirty of blocks that are given up.
void CachedFile::clear(std::span<BlockTable::Entry const> replaced, CallRecord& record) {
    if (replaced.empty()) return;
    barrier(record);  // no thread of any rank is in an independent call
    for (auto const& entry : replaced) {
        if (!memory_.is_mine(entry.block)) continue;
        auto const old = memory_.buffer(entry);
        deferred_.flush(entry.block, old);
        old.forget();
    }
    record.lap(Phase::file);
    barrier(record);
}

// What ranks of this node write independently is in the buffers then. Between nodes without the
// lock, too: other threads may have to go on before the others come.
void CachedFile::meet_before_drain() {
    if (Verdict none; several_nodes())
        rendezvous_.meet(none);
    else
        rendezvous_.barrier();
}

void CachedFile::drain(CallRecord& record) {
    auto const wrote_alone = std::exchange(wrote_alone_, false);
    if (!in_use_) {
        end_window();  // calls that go on alone would have errors that nobody agrees on any more
        if (wrote_alone) agree_on_errors();
        return;
    }
    end_window();
    meet_before_drain();
    std::lock_guard const lock{mutex_};
    barrier(record);
    deferred_.reap(/*all=*/true);
    deferred_.flush_all();
    memory_.for_own_buffers([](std::uint64_t, BlockBuffer const& buffer) { buffer.forget(); });
    memory_.clear();
    reader_.end_turns();
    record.lap(Phase::file);
    agree_on_errors();
    record.lap(Phase::waiting);
    if (several_nodes()) {
        auto const list = newer_.own().to_rewrite();
        if (!list.empty()) deferred_.write(list);
        agree_on_errors();
        newer_.own().clear();
    }
    record.lap(Phase::file);
    in_use_ = written_ = may_be_stale_ = false;
    mail_.finish();
    own_end_.forget();
    unsaved_elsewhere_ = 0;
    windows_.reset();
}

void CachedFile::agree_on_errors() {
    auto verdict = deferred_.take_error();
    rendezvous_.meet(verdict);
    agreed_error_.merge(verdict);
}

Verdict CachedFile::take_error() { return std::exchange(agreed_error_, {}); }

IoResult CachedFile::perform_independent(Request const& request, CallRecord& record) {
    std::unique_lock lock{mutex_};
    if (in_use_) return independent(request, request.positions, record);
    lock.unlock();
    auto const result = perform_direct(request, request.positions, storage_, record);
    renew(request, result.bytes);
    return result;
}

void CachedFile::renew(Request const& request, std::uint64_t bytes) {
    if (request.direction == Direction::read || !in_use_) return;
    std::lock_guard const lock{mutex_};
    auto const begin = request.positions.begin;
    if (in_use_) keep_written(request, {begin, begin + bytes});
}

void CachedFile::take_note_of(Request const& request, Positions done) {
    std::lock_guard const lock{mutex_};
    if (!in_use_ || done.empty()) return;
    auto const writes = request.direction == Direction::write;
    if (writes && (reader_.in_turns() || (several_nodes() && !written_))) may_be_stale_ = true;
    if (reader_.in_turns()) {  // nothing was written here
        if (writes) reader_.renew_in_turns(request, done);
    } else if (writes) {
        newer_.replace(request, done);
    } else {
        newer_.look_up_written(request, done);
    }
}

IoResult CachedFile::independent(Request const& request, Positions part, CallRecord& record) {
    if (request.direction == Direction::read)
        if (auto const result = own_end_.grow_file(); result.error) return result;
    auto const result = perform_direct(request, part, storage_, record);
    Positions const done{part.begin, part.begin + result.bytes};
    if (request.direction == Direction::write) {
        keep_written(request, done);
    } else if (written_) {  // else all is in the file, and what is in memory may be older
        newer_.look_up(request, done);
    }
    return result;
}

// An independent write, which is in the file.
void CachedFile::keep_written(Request const& request, Positions done) {
    // Between nodes what was read is forgotten; nothing older can be on its way to the file.
    if (several_nodes() && !written_)
        may_be_stale_ = true;
    else
        newer_.note_write(request, done, written_);
}

}  // namespace unisono
