#include "execute/cached.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "execute/direct.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t offset_most = INT64_MAX;
// The first window that is open for deposits (deposit.cpp).
constexpr std::uint64_t first_window_calls = 8;

std::uint64_t bytes_of(std::span<Transfer const> list) {
    std::uint64_t bytes = 0;
    for (auto const& transfer : list) bytes += transfer.bytes;
    return bytes;
}

}  // namespace

/// What a call needs to know beyond the request.
struct CachedFile::Call {
    Request const& request;
    CallRecord& record;
    Extent touched;  // by any rank
    ViewInterval mine;
    std::vector<ViewInterval> intervals;  // by rank, on several nodes
    BlockTable::Blocks blocks;            // of the round
    std::size_t sent = 0;                 // messages of this round
    IoResult result;
};

CachedFile::CachedFile(Team& team, Rendezvous& rendezvous, Storage const& storage,
                       std::uint32_t number)
    : team_{team},
      rendezvous_{rendezvous},
      storage_{storage},
      window_calls_{first_window_calls},
      kind_{Team::deposits_of(number)} {}

CachedFile::~CachedFile() = default;

BlockBuffer CachedFile::buffer(std::size_t aggregator, std::size_t slot) const {
    auto const place = memory_of_[aggregator][slot];
    auto const segment = std::prev(std::ranges::upper_bound(segments_, place, {}, &Segment::first));
    auto const stride = BlockBuffer::bytes_needed(plan_.block_bytes);
    return {segment->memory->data() + (place - segment->first) * stride, plan_.block_bytes};
}

BlockBuffer CachedFile::buffer(std::uint64_t block) const {
    return buffer(table_.owner(block), *table_.slot_of(block));
}

// Calls use(rank, view) for the ranks of other nodes that have bytes in the aggregator's blocks.
template <class Use>
void CachedFile::for_remote_ranks(Call const& call, std::size_t aggregator, Use&& use) const {
    for (std::uint32_t rank = 0; rank < call.intervals.size(); ++rank) {
        auto const& interval = call.intervals[rank];
        if (on_my_node(rank) || interval.positions.empty()) continue;
        auto const view = views_.tiling(interval);
        if (bytes_in(call.blocks, interval, view, aggregator) > 0) use(rank, view);
    }
}

std::uint64_t CachedFile::bytes_in(BlockTable::Blocks blocks, ViewInterval const& interval,
                                   Tiling const& view, std::size_t aggregator) const {
    std::uint64_t bytes = 0;
    for_parts(blocks, interval, view, aggregator,
              [&](std::uint64_t, Positions part) { bytes += part.bytes(); });
    return bytes;
}

void CachedFile::send(Call& call, std::uint32_t to, Message message) {
    ++call.sent;
    team_.send(to, Team::Kind::data, std::move(message));
}

bool CachedFile::prepare_bypass() {
    std::lock_guard const lock{mutex_};
    if (written_) return false;
    may_be_stale_ = in_use_;
    return true;
}

CacheNeeds CachedFile::needs(Request const& request, Options const& options) {
    std::lock_guard const lock{mutex_};
    if (!several_nodes())
        return {.drain = may_be_stale_, .misfit = misfit_, .advance = advance_of(request)};
    auto const& topology = team_.topology();
    auto const ranks = topology.ranks_of[topology.node_of[team_.rank()]].size();
    auto const more_bytes = request.direction == Direction::write
                                ? OwnWrites::memory_bytes_for(request.view, request.positions)
                                : 0;
    auto const most_bytes = options.pool_bytes / ranks;
    auto const left_bytes = most_bytes - std::min(most_bytes, own_writes_.memory_bytes());
    return {.drain = may_be_stale_ || own_writes_.any_in_file(),
            .write_through = !storage_.write_only && more_bytes > left_bytes,
            .misfit = misfit_,
            .advance = advance_of(request),
            .calls_in_memory = more_bytes == 0 ? UINT64_MAX : left_bytes / more_bytes};
}

bool CachedFile::prepare(Facts const& facts, Plan const& plan, CallRecord& record) {
    if (plan.block_bytes != plan_.block_bytes || plan.pool_bytes != plan_.pool_bytes ||
        plan.aggregators != plan_.aggregators) {
        drain(record);
        std::lock_guard const lock{mutex_};
        plan_ = plan;
        auto const slots = std::max<std::uint64_t>(1, plan.pool_bytes / plan.block_bytes);
        table_ = {plan.aggregators.size(), static_cast<std::size_t>(slots)};
        memory_of_.assign(plan.aggregators.size(), {});
        used_.assign(team_.topology().nodes(), 0);
        made_.assign(team_.topology().nodes(), 0);
        segments_.clear();
    }
    plan_.flush_online = plan.flush_online;
    auto const first = facts.touched.begin / plan.block_bytes;
    return reserve({first, std::max(first, div_ceil(facts.touched.end, plan.block_bytes))});
}

// Makes memory for the buffers that these blocks need, at least doubling what a node has.
bool CachedFile::reserve(BlockTable::Blocks blocks) {
    auto const& node_of = team_.topology().node_of;
    auto const slots = std::max<std::uint64_t>(1, plan_.pool_bytes / plan_.block_bytes);
    std::vector<std::size_t> needed = used_;
    std::vector<std::size_t> most(used_.size());
    for (std::size_t i = 0; i < plan_.aggregators.size(); ++i) {
        auto const node = node_of[plan_.aggregators[i]];
        auto const after = table_.slots_after(i, blocks);
        needed[node] += after - std::min(after, memory_of_[i].size());
        most[node] += slots;
    }
    std::uint64_t ended_well = 1;
    bool any = false;
    std::vector<Segment> more;
    for (std::size_t node = 0; node < needed.size(); ++node) {
        if (needed[node] <= made_[node]) continue;
        any = true;
        auto const places =
            std::min(std::max(needed[node], 2 * made_[node]), most[node]) - made_[node];
        if (node == node_of[team_.rank()]) {
            auto memory =
                team_.own_node_memory(places * BlockBuffer::bytes_needed(plan_.block_bytes));
            ended_well = memory == nullptr ? 0 : 1;
            if (memory != nullptr) more.push_back({made_[node], std::move(memory)});
        }
        made_[node] += places;
    }
    if (any && several_nodes()) team_.minimum({&ended_well, 1});
    if (ended_well == 0) {  // all over: what there is cannot be kept in step with the other nodes
        CallRecord record;
        drain(record);
        plan_ = {};
        segments_.clear();
        return false;
    }
    std::lock_guard const lock{mutex_};
    std::ranges::move(more, std::back_inserter(segments_));
    for (std::size_t i = 0; i < plan_.aggregators.size(); ++i)
        while (memory_of_[i].size() < table_.slots_after(i, blocks))
            memory_of_[i].push_back(used_[node_of[plan_.aggregators[i]]]++);
    return true;
}

IoResult CachedFile::perform(Facts const& facts, bool write_through, Request const& request,
                             CallRecord& record) {
    std::lock_guard const lock{mutex_};
    Call call{.request = request, .record = record, .touched = facts.touched};
    begin(call);
    auto const writes = request.direction == Direction::write;
    auto const count = plan_.aggregators.size();
    auto const last = div_ceil(facts.touched.end, plan_.block_bytes);
    // Half of the pool a round, so that the other half can be written meanwhile.
    auto const round_blocks = std::max<std::uint64_t>(count, table_.room() / count / 2 * count);
    auto next = facts.touched.begin / plan_.block_bytes;
    while (next < last) {
        call.blocks = {next, std::min(last, next + round_blocks)};
        next = call.blocks.last;
        make_room(call.blocks, call.record);
        call.sent = 0;
        if (writes) write_round(call);
        if (!writes) read_round(call);
        ++record.rounds;
        team_.finish_sends(call.sent);
        if (next == last) break;
        barrier(call);
        if (writes && plan_.flush_online) start_flushes(calls_dirty_usually);
        call.record.lap(Phase::file);
    }
    if (writes) finish_write(call, facts, write_through);
    team_.finish_sends(0);
    call.record.lap(Phase::exchange);
    return call.result;
}

void CachedFile::begin(Call& call) {
    assert(!window_open_);
    in_use_ = true;
    ++call_;
    if (call.request.direction == Direction::write) {
        reap_flushes(/*all=*/false);
        call.record.lap(Phase::file);
    }
    note_call(call.request);
    call.mine = {.positions = call.request.positions};
    if (!several_nodes()) return;
    call.mine = views_.interval_of(call.request.view, call.request.positions);
    call.intervals = team_.gather_values(std::span<ViewInterval const>{&call.mine, 1});
    views_.learn(team_, plan_.aggregators, call.intervals, call.request.view.shape);
    call.record.lap(Phase::exchange);
}

std::size_t CachedFile::aggregator_after_mine() const {
    auto const count = plan_.aggregators.size();
    std::size_t first = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (plan_.aggregators[i] < team_.rank()) first = (i + 1) % count;
    return first;
}

void CachedFile::barrier(Call& call) {
    rendezvous_.barrier();
    call.record.lap(Phase::waiting);
}

// The file's size and, where a rank could not keep its own copy, its contents are right at once.
void CachedFile::finish_write(Call& call, Facts const& facts, bool write_through) {
    call.result.add(grow_file(facts, call));
    if (write_through) {
        barrier(call);
        flush_own_blocks();
        written_through_ = true;
    } else if (keeps_own_writes()) {
        remember(call.request, call.request.positions, /*in_file=*/false);
    }
    call.record.lap(Phase::file);
}

// The rank that has the call's last byte writes it when the file ends before it: unlike ftruncate
// that cannot cut off what others write meanwhile.
IoResult CachedFile::grow_file(Facts const& facts, Call& call) const {
    auto const& [begin, end] = call.request.positions;
    if (begin == end || touched(call.request.view, {begin, end}).end != facts.touched.end)
        return {};
    struct stat status {};
    if (fstat(storage_.descriptor, &status) == 0 &&
        static_cast<std::uint64_t>(status.st_size) >= facts.touched.end)
        return {};
    return perform_direct(call.request, {end - 1, end}, storage_, call.record);
}

void CachedFile::finish_call(CallRecord& record) {
    std::lock_guard const lock{mutex_};
    if (std::exchange(written_through_, false) && !own_writes_.any_in_file()) own_writes_.clear();
    if (plan_.flush_online) start_flushes(calls_dirty_usually);
    record.lap(Phase::file);
}

void CachedFile::write_round(Call& call) {
    for (auto block = call.blocks.first; block < call.blocks.last; ++block)
        if (is_mine(block)) dirty_since_.try_emplace(block, call_);
    for_each_aggregator([&](std::size_t i) {
        if (!on_my_node(plan_.aggregators[i])) return send_data(call, i);
        store_own(call.blocks, call.mine, call.request, i);
    });
    call.record.lap(Phase::copying);
    for_own_aggregators([&](std::size_t i) { receive_data(call, i); });
    call.record.lap(Phase::exchange);
}

// All that this rank has for an aggregator in this round, in one message, and nothing else: the
// other end knows the view and its interval.
void CachedFile::send_data(Call& call, std::size_t aggregator) {
    auto const bytes = bytes_in(call.blocks, call.mine, call.request.view, aggregator);
    if (bytes == 0) return;
    Message message(bytes);
    pack_own(call.blocks, call.mine, call.request, aggregator, message.data());
    send(call, plan_.aggregators[aggregator], std::move(message));
}

void CachedFile::receive_data(Call& call, std::size_t aggregator) {
    for_remote_ranks(call, aggregator, [&](std::uint32_t rank, Tiling const& view) {
        auto const message = team_.receive(rank, Team::Kind::data);
        store_packed(call.blocks, call.intervals[rank], view, aggregator, message.data());
    });
}

// This rank's data for an aggregator of its node, straight to the buffers.
void CachedFile::store_own(BlockTable::Blocks blocks, ViewInterval const& mine,
                           Request const& request, std::size_t aggregator) const {
    for_parts(blocks, mine, request.view, aggregator, [&](std::uint64_t block, Positions part) {
        buffer(block).store(request.in_memory(part), request.view, part, begin_of(block));
    });
}

// The same for another node, side by side.
void CachedFile::pack_own(BlockTable::Blocks blocks, ViewInterval const& mine,
                          Request const& request, std::size_t aggregator, std::byte* to) const {
    for_parts(blocks, mine, request.view, aggregator, [&](std::uint64_t, Positions part) {
        copy_data(request.in_memory(part), Packed{part.bytes()}.at(to));
        to += part.bytes();
    });
}

// What another rank has packed.
void CachedFile::store_packed(BlockTable::Blocks blocks, ViewInterval const& interval,
                              Tiling const& view, std::size_t aggregator,
                              std::byte const* from) const {
    for_parts(blocks, interval, view, aggregator, [&](std::uint64_t block, Positions part) {
        buffer(block).store(Packed{part.bytes()}.at(from), view, part, begin_of(block));
        from += part.bytes();
    });
}

void CachedFile::read_round(Call& call) {
    for_each_aggregator([&](std::size_t i) {
        if (on_my_node(plan_.aggregators[i])) want(call, call.mine, call.request.view, i);
    });
    for_own_aggregators([&](std::size_t i) {
        for_remote_ranks(call, i, [&](std::uint32_t rank, Tiling const& view) {
            want(call, call.intervals[rank], view, i);
        });
    });
    call.record.lap(Phase::copying);
    barrier(call);
    for_own_aggregators([&](std::size_t i) { read_missing(call, i); });
    call.record.lap(Phase::file);
    barrier(call);
    for_own_aggregators([&](std::size_t i) { reply(call, i); });
    call.record.lap(Phase::exchange);
    for_each_aggregator([&](std::size_t i) {
        if (!on_my_node(plan_.aggregators[i])) return receive_reply(call, i);
        for_parts(call.blocks, call.mine, call.request.view, i,
                  [&](std::uint64_t block, Positions part) {
                      auto const from = buffer(block);
                      part = within(call.request.view, part, {0, from.readable_end()});
                      copy_data({call.request.view, part, base_of(from, block)},
                                call.request.in_memory(part));
                  });
    });
    call.record.lap(Phase::copying);
}

void CachedFile::want(Call const& call, ViewInterval const& interval, Tiling const& view,
                      std::size_t aggregator) const {
    for_parts(call.blocks, interval, view, aggregator, [&](std::uint64_t block, Positions part) {
        auto covered = buffer(block).wanted();
        Coverage::Marker marker{covered};
        walk_runs(view, part, [&](PieceRun run) {
            run.offset -= static_cast<std::int64_t>(begin_of(block));
            marker.mark(run);
        });
    });
}

// Reads what is wanted and not there yet: not a byte more.
void CachedFile::read_missing(Call& call, std::size_t aggregator) {
    std::vector<Transfer> list;
    for (auto block = call.blocks.first; block < call.blocks.last; ++block) {
        if (table_.owner(block) != aggregator) continue;
        auto const from = buffer(block);
        auto const asked = intersect(call.touched, {begin_of(block), begin_of(block + 1)});
        for (auto const& [begin, end] : from.take_missing(within_block(asked, block)))
            list.push_back({begin_of(block) + begin, from.data() + begin, end - begin});
    }
    IoResult result;
    if (!list.empty()) result = storage_.backend->perform(Direction::read, list);
    call.result.add(result);
    mark_read(list, result);
    auto const readable_end = std::min(result.stopped_at, offset_most);
    for (auto block = call.blocks.first; block < call.blocks.last; ++block)
        if (table_.owner(block) == aggregator) buffer(block).set_readable_end(readable_end);
}

// What of a list has been read.
void CachedFile::mark_read(std::span<Transfer const> list, IoResult const& result) const {
    for (auto const& transfer : list) {
        auto const block = transfer.offset / plan_.block_bytes;
        auto const end = std::min(transfer.offset + transfer.bytes, result.stopped_at);
        if (end > transfer.offset)
            buffer(block).mark_valid(within_block({transfer.offset, end}, block));
    }
}

void CachedFile::reply(Call& call, std::size_t aggregator) {
    for_remote_ranks(call, aggregator, [&](std::uint32_t rank, Tiling const& view) {
        Message message(sizeof(std::uint64_t) +
                        bytes_in(call.blocks, call.intervals[rank], view, aggregator));
        auto* at = message.data() + sizeof(std::uint64_t);
        std::uint64_t readable_end = 0;
        for_parts(call.blocks, call.intervals[rank], view, aggregator,
                  [&](std::uint64_t block, Positions part) {
                      auto const from = buffer(block);
                      readable_end = from.readable_end();
                      part = within(view, part, {0, readable_end});
                      copy_data({view, part, base_of(from, block)}, Packed{part.bytes()}.at(at));
                      at += part.bytes();
                  });
        std::memcpy(message.data(), &readable_end, sizeof readable_end);
        message.resize(static_cast<std::size_t>(at - message.data()));
        send(call, rank, std::move(message));
    });
}

void CachedFile::receive_reply(Call& call, std::size_t aggregator) {
    if (bytes_in(call.blocks, call.mine, call.request.view, aggregator) == 0) return;
    auto const message = team_.receive(plan_.aggregators[aggregator], Team::Kind::data);
    std::uint64_t readable_end = 0;
    std::memcpy(&readable_end, message.data(), sizeof readable_end);
    auto const* at = message.data() + sizeof readable_end;
    for_parts(call.blocks, call.mine, call.request.view, aggregator,
              [&](std::uint64_t, Positions part) {
                  part = within(call.request.view, part, {0, readable_end});
                  copy_data(Packed{part.bytes()}.at(at), call.request.in_memory(part));
                  at += part.bytes();
              });
}

// Finds room for the round's blocks, and writes what was there.
void CachedFile::make_room(BlockTable::Blocks blocks, CallRecord& record) {
    clear(table_.place(blocks), record);
}

// Writes what is dirty of blocks that are given up.
void CachedFile::clear(std::span<BlockTable::Entry const> replaced, CallRecord& record) {
    if (replaced.empty()) return;
    rendezvous_.barrier();  // no thread of any rank is in an independent call
    record.lap(Phase::waiting);
    for (auto const& [block, slot] : replaced) {
        auto const owner = table_.owner(block);
        if (plan_.aggregators[owner] != team_.rank()) continue;
        auto const old = buffer(owner, slot);
        flush(block, old);
        old.forget();
    }
    record.lap(Phase::file);
    rendezvous_.barrier();
    record.lap(Phase::waiting);
}

std::vector<Transfer> CachedFile::take_dirty(std::uint64_t block, BlockBuffer const& from) const {
    std::vector<Transfer> list;
    for (auto const& [begin, end] : from.take_dirty())
        list.push_back({begin_of(block) + begin, from.data() + begin, end - begin});
    return list;
}

void CachedFile::flush(std::uint64_t block, BlockBuffer const& from) {
    dirty_since_.erase(block);
    if (auto const under_way = flushes_.find(block); under_way != flushes_.end()) {
        note(under_way->second.io->wait(), under_way->second.list);
        flushes_.erase(under_way);
    }
    auto const list = take_dirty(block, from);
    if (list.empty()) return;
    note(storage_.backend->perform(Direction::write, list), list);
}

void CachedFile::flush_own_blocks() {
    for_own_aggregators([&](std::size_t i) {
        for (auto const& [block, slot] : table_.entries(i)) flush(block, buffer(i, slot));
    });
}

// Starts to write blocks that are full, and those that have been waiting for long. Bytes that
// change while they are on their way are dirty again, and go once more.
void CachedFile::start_flushes(std::uint64_t calls_dirty_at_most) {
    for (auto entry = dirty_since_.begin(); entry != dirty_since_.end();) {
        auto const [block, since] = *entry;
        auto const from = buffer(block);
        auto const waited_long = call_ - since >= calls_dirty_at_most;
        if (flushes_.contains(block) || !(waited_long || from.full())) {
            ++entry;
            continue;
        }
        entry = dirty_since_.erase(entry);
        auto list = take_dirty(block, from);
        if (list.empty()) continue;
        auto& under_way = flushes_[block];
        under_way.list = std::move(list);
        under_way.io = storage_.backend->start(Direction::write, under_way.list);
    }
}

// Takes note of writes that have ended, or waits for all.
void CachedFile::reap_flushes(bool all) {
    std::erase_if(flushes_, [&](auto& flush) {
        auto& [block, under_way] = flush;
        if (!all && !under_way.io->ended()) return false;
        note(under_way.io->wait(), under_way.list);
        return true;
    });
}

// Keeps the error of a deferred write, with what was lost.
void CachedFile::note(IoResult const& result, std::span<Transfer const> list) {
    if (result.stopped_at == IoResult::nowhere) return;
    Verdict verdict{result, team_.rank()};
    if (verdict.code == 0) verdict.code = EIO;
    verdict.lost_end = list.back().offset + list.back().bytes;
    verdict.lost_bytes = bytes_of(list) - result.bytes;
    own_error_.merge(verdict);
}

void CachedFile::drain(CallRecord& record) {
    if (!in_use_) return;
    end_window();
    rendezvous_.barrier();  // what ranks of this node write independently is in the buffers
    std::lock_guard const lock{mutex_};
    rendezvous_.barrier();
    record.lap(Phase::waiting);
    reap_flushes(/*all=*/true);
    flush_own_blocks();
    for_own_aggregators([&](std::size_t i) {
        for (auto const& [block, slot] : table_.entries(i)) buffer(i, slot).forget();
    });
    table_.clear();
    record.lap(Phase::file);
    agree_on_errors();
    record.lap(Phase::waiting);
    if (several_nodes()) {
        auto const list = own_writes_.to_rewrite();
        if (!list.empty()) note(storage_.backend->perform(Direction::write, list), list);
        agree_on_errors();
        own_writes_.clear();
    }
    record.lap(Phase::file);
    in_use_ = written_ = may_be_stale_ = false;
    team_.finish_deposits(kind_);
    own_end_ = 0;
    windows_.reset();
}

void CachedFile::agree_on_errors() {
    auto verdict = std::exchange(own_error_, {});
    rendezvous_.meet(verdict);
    agreed_error_.merge(verdict);
}

Verdict CachedFile::take_error() { return std::exchange(agreed_error_, {}); }

IoResult CachedFile::perform_independent(Request const& request, CallRecord& record) {
    std::unique_lock lock{mutex_};
    if (in_use_) return independent(request, request.positions, record);
    lock.unlock();
    return perform_direct(request, request.positions, storage_, record);
}

IoResult CachedFile::independent(Request const& request, Positions part, CallRecord& record) {
    if (request.direction == Direction::read)
        if (auto const result = grow_to_own_end(); result.error) return result;
    auto const result = perform_direct(request, part, storage_, record);
    Positions const done{part.begin, part.begin + result.bytes};
    if (request.direction == Direction::write) {
        // Between nodes what was read is forgotten; nothing older can be on its way to the file.
        if (several_nodes() && !written_)
            may_be_stale_ = true;
        else
            remember(request, done, /*in_file=*/true);
        return result;
    }
    // Where no call has written, all is in the file, and what is in memory may be older.
    if (!written_) return result;
    auto const memory = request.in_memory(done);
    walk_both(request.view, done, memory.tiling, memory.positions,
              [&](std::int64_t file, std::int64_t offset, std::uint64_t bytes) {
                  look_up(static_cast<std::uint64_t>(file), memory.at(offset), bytes);
              });
    return result;
}

// Puts what this rank may already see over what was read from the file.
void CachedFile::look_up(std::uint64_t offset, std::byte* memory, std::uint64_t bytes) const {
    if (several_nodes()) return own_writes_.overlay(offset, memory, bytes);
    for_blocks(offset, bytes, [&](std::uint64_t block, Extent range) {
        auto const from = buffer(block);
        auto const begin = begin_of(block);
        for (auto const& known : from.known(within_block(range, block)))
            std::memcpy(memory + (begin + known.begin - offset), from.data() + known.begin,
                        known.bytes());
    });
}

// Keeps this rank's view of what it has written.
void CachedFile::remember(Request const& request, Positions part, bool in_file) {
    auto const memory = request.in_memory(part);
    walk_both(request.view, part, memory.tiling, memory.positions,
              [&](std::int64_t file, std::int64_t from, std::uint64_t bytes) {
                  auto const offset = static_cast<std::uint64_t>(file);
                  if (several_nodes())
                      own_writes_.put(offset, memory.at(from), bytes, in_file);
                  else
                      put(offset, memory.at(from), bytes);
              });
}

// An independent write, which is in the file already, also to the buffers. It is dirty there when
// an older value of its bytes may be on its way to the file; else it must not go there once more,
// after what others may do to the file.
void CachedFile::put(std::uint64_t offset, std::byte const* memory, std::uint64_t bytes) const {
    for_blocks(offset, bytes, [&](std::uint64_t block, Extent range) {
        auto const to = buffer(block);
        auto const lock = locked(to);
        auto const begin = range.begin - begin_of(block);
        auto const* const from = memory + (range.begin - offset);
        BufferRange const place{begin, begin + range.bytes()};
        if (written_)
            to.store(from, place);
        else
            to.store_valid(from, place);
    });
}

}  // namespace unisono
