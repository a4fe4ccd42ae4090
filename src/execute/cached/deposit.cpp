// Writes that repeat, without meetings.
//
//   call      1        2          3   4   5  ...  n        n + 1
//   ranks     agree    agree      each copies its data     agree
//                      and open   to the buffers           and open anew
//
// When a write is as long as the one before on every rank, its ranks make room for the blocks that
// the next ones will touch if they go on like that, as far as half of the pool. Then a rank needs
// nobody: its bytes go where their block is, the block's owner finds by a count that it is full,
// and what does not fit (another place, no buffer) is an independent write of that rank. Every rank
// counts its calls, so all know, without a word, which one is agreed on again.
//
// Pieces that each rank had better move by itself need no buffers: what is written is in the file
// at once. Their window has no memory and no end in the file.
// Source: View-based collective I/O (CCGrid 2008), section IV, has the buffers and the static map;
// its ranks still wait for their answer in every call. That they need not is ours.

#include <algorithm>

#include "execute/cached/cached_file.hpp"
#include "execute/direct.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t calls_most = 1024;
// Where each rank does them by itself: what it asks for may have changed before they agree again.
constexpr std::uint64_t direct_calls_most = 64;
// Of each aggregator, in one window; at least so many in all. Two windows are in memory: on one
// node little of it, so that it is warm and new to nobody; between nodes enough that links are
// busy, since calls that follow each other go to one block.
constexpr std::uint64_t blocks_on_one_node = 1;
constexpr std::uint64_t blocks_between_nodes = 4;
constexpr std::uint64_t blocks_least = 4;
// In all: who has to wait for one reads another meanwhile. Short blocks as many as are warm when
// their memory is used again; with one more long one, memory is made for eight.
constexpr std::uint64_t blocks_to_read_least = 3;
constexpr std::uint64_t bytes_to_read = 6 << 20;
// Blocks that are not full wait for the next agreed call.
constexpr std::uint64_t until_agreed = UINT64_MAX;

// Calls to come want at least half of what would be read with whole blocks.
bool worth_whole_blocks(Facts const& facts, std::uint64_t advance) {
    return facts.bytes >= (advance == 0 ? facts.touched.bytes() : advance) / 2;
}

}  // namespace

void CachedFile::note_call(Request const& request, CallRecord const& record) {
    std::lock_guard const lock{mutex_};
    last_calls_.note(request.direction, LastCalls::look_at(request, record));
}

std::uint64_t CachedFile::blocks_open(Direction direction) const {
    if (direction == Direction::read)
        return std::max(blocks_to_read_least, memory_.block_at(bytes_to_read));
    auto const each = several_nodes() ? blocks_between_nodes : blocks_on_one_node;
    auto const wanted = std::max<std::uint64_t>(blocks_least, each * memory_.aggregators().size());
    if (unsaved_bytes_most_ == 0) return wanted;
    return std::min(wanted, memory_.block_at(unsaved_bytes_most_ / 2));  // there are two windows
}

void CachedFile::open_window(Facts const& facts, CacheNeeds const& agreed, CallRecord& record) {
    auto const advance = agreed.advance;
    if (advance == CacheNeeds::no_repeat || !facts.ascending || team_.deposits_stopped()) return;
    auto const reads = facts.direction == Direction::read;
    if (reads && (several_nodes() || !worth_whole_blocks(facts, advance))) return;
    auto const first = memory_.block_at(facts.touched.begin);
    auto const last = first + std::min(memory_.room() / 2, blocks_open(facts.direction));
    auto end = std::min(memory_.begin_of(last), std::uint64_t{INT64_MAX});
    if (end <= facts.touched.end) return;
    // What is on its way to other nodes is as much as the window at most, also where it is written
    // again and again.
    auto const moved = std::max({advance, reads ? 0 : facts.bytes, std::uint64_t{1}});
    // Where nobody can write, blocks take turns in the window's buffers.
    auto const turns = reads && facts.read_only && end - facts.touched.end >= moved;
    if (turns) end = INT64_MAX;
    auto const calls = std::min({(end - facts.touched.end) / moved, agreed.calls_in_memory,
                                 earned_calls(agreed.misfit, turns ? 4 : 2)});
    if (calls == 0) return;
    Extent const range{facts.touched.begin, facts.touched.end + calls * advance};
    leave_behind(range, facts.direction, record);
    auto const blocks = memory_.blocks_of(range);
    BlockTable::Blocks const placed{first, std::min(last, blocks.last)};
    if (!reserve(placed)) return;
    std::lock_guard const lock{mutex_};
    clear(memory_.place(placed), record);
    window_ = {.direction = facts.direction, .range = range, .calls_left = calls};
    window_open_ = true;
    misfit_ = false;
    if (reads) {
        reader_.open(range, placed);
        if (reader_.in_turns()) barrier(record);  // nobody counts on where others were before
        return;
    }
    for (auto block = placed.first; block < placed.last; ++block)
        if (memory_.is_mine(block)) deferred_.renew(block, now(record));
    if (several_nodes()) mail_.open(range.bytes());
}

void CachedFile::open_direct_window(Facts const& facts, CacheNeeds const& agreed,
                                    std::uint64_t choice) {
    if (agreed.advance == CacheNeeds::no_repeat) return;
    std::lock_guard const lock{mutex_};
    window_ = {.direction = facts.direction,
               .calls_left = std::min(earned_calls(agreed.misfit), direct_calls_most),
               .direct = true,
               .choice = choice};
    misfit_ = false;
}

// Windows grow as long as they foresee what the ranks write.
std::uint64_t CachedFile::earned_calls(bool misfit, std::uint64_t growth) {
    auto const calls = misfit ? 1 : window_calls_;
    window_calls_ = std::min(growth * calls, calls_most);
    return calls;
}

// What was written two windows ago is in the file by now, or goes there: its memory is used again.
// What was read is done with at once.
void CachedFile::leave_behind(Extent range, Direction direction, CallRecord& record) {
    std::lock_guard const lock{mutex_};
    auto const first = memory_.block_at(range.begin);
    auto const writes = direction == Direction::write;
    auto const went_on = windows_ && first >= windows_->last;
    auto const last = went_on && writes ? windows_->last : first;
    if (went_on)
        clear(memory_.release({windows_->last_but_one, last}), record);
    else
        unsaved_elsewhere_ = unsaved_with(windows_);
    Windows const next{
        .last_but_one = last,
        .last = first,
        .written_end = std::max(went_on ? windows_->written_end : 0, writes ? range.end : 0)};
    if (writes && too_much_unsaved(next)) {
        save();
        barrier(record);
    }
    windows_ = next;
}

void CachedFile::begin_in_window() {
    std::lock_guard const lock{mutex_};
    go_on_in_window();
}

bool CachedFile::begin_directly(Direction direction, Extent range, double now_s) {
    LastCalls::Call const call{.bytes = range.bytes(), .touched = range, .at_s = now_s};
    std::lock_guard const lock{mutex_};
    if (!window_.direct || !in_window(direction) || !last_calls_.repeats(direction, call))
        return false;
    go_on_in_window();
    last_calls_.note(direction, call);
    return true;
}

void CachedFile::go_on_in_window() {
    assert(window_.calls_left > 0);
    --window_.calls_left;
    window_.used = true;
    wrote_alone_ = wrote_alone_ || writes_in_window();
    ++call_;
}

bool CachedFile::fits(Request const& request, Extent touched) {
    if (request.positions.empty()) return true;
    if (!request.view.ascending()) return false;
    if (request.direction == Direction::read) return reader_.may_read(touched);
    return touched.begin >= window_.range.begin && touched.end <= window_.range.end &&
           (!several_nodes() || views_.knows(views_.interval_of(request.view, request.positions)));
}

// An error is this rank's at once, and the others' with those of deferred writes.
IoResult CachedFile::move_directly(Request const& request, CallRecord& record) {
    auto const call = LastCalls::look_at(request, record);
    std::unique_lock lock{mutex_};
    if (!last_calls_.repeats(request.direction, call)) misfit_ = true;
    last_calls_.note(request.direction, call);
    lock.unlock();
    auto const result = perform_direct(request, request.positions, storage_, record);
    if (result.error) note_lost(request, result);
    return result;
}

void CachedFile::note_lost(Request const& request, IoResult const& result) {
    std::lock_guard const lock{mutex_};
    tell_others(request, result);
}

// A lone rank has heard of it.
void CachedFile::tell_others(Request const& request, IoResult const& result) {
    if (team_.topology().ranks() > 1) deferred_.note(lost_in(request, result, team_.rank()));
}

IoResult CachedFile::deposit(Request const& request, CallRecord& record) {
    if (window_.direct) return move_directly(request, record);
    std::lock_guard const lock{mutex_};
    auto const call = LastCalls::look_at(request, record);
    if (!fits(request, call.touched)) {
        misfit_ = true;
        auto const result = independent(request, request.positions, record);
        tell_others(request, result);
        return result;
    }
    written_.store(true, std::memory_order_relaxed);
    last_calls_.note(request.direction, call);
    if (call.bytes > 0) {
        auto const blocks = memory_.blocks_of(call.touched);
        memory_.for_each_aggregator([&](std::size_t i) {
            if (memory_.on_my_node(memory_.aggregator(i)))
                store(memory_, blocks, request, i);
            else
                mail_.send(i, blocks, request);
        });
        if (keeps_own_writes()) newer_.remember(request);
        own_end_.note(request, call.touched.end);
    }
    record.lap(Phase::copying);
    mail_.take();
    record.lap(Phase::exchange);
    write_behind(record, until_agreed);
    return {.bytes = call.bytes};
}

// What has to go to the file goes there in the background.
void CachedFile::write_behind(CallRecord& record, std::uint64_t calls_dirty_at_most) {
    deferred_.reap(/*all=*/false);
    start_writes(record, calls_dirty_at_most);
    record.lap(Phase::file);
}

// On one node whatever lies in the window can be put there; pieces of other sizes may want buffers.
// Other nodes must learn views first; and HDF5, which sets a view before and after each collective
// call, then has single ranks read what others wrote, without a sync: it is in the file then.
void CachedFile::note_new_views() {
    if (several_nodes() && holds_writes()) {
        CallRecord of_no_data_call;
        drain(of_no_data_call);
    } else if (several_nodes() || window_.direct) {
        end_window();
    }
}

// Without the lock while it waits: other threads may have to go on before the others come.
void CachedFile::end_window() {
    std::unique_lock lock{mutex_};
    reader_.close();
    window_ = {};
    if (!std::exchange(window_open_, false)) return;
    if (several_nodes()) mail_.close();
    for (mail_.take(); mail_.more_may_come(); mail_.take()) {
        lock.unlock();
        team_.idle();
        lock.lock();
    }
    if (flush_online_) deferred_.start({.call = call_}, {});
}

// Others read as far as the file goes.
void CachedFile::begin_reading() {
    std::lock_guard const lock{mutex_};
    if (auto const grown = own_end_.grow_file(); grown.error)
        deferred_.note(Verdict{grown, team_.rank()});
}

IoResult CachedFile::settle_size() {
    std::lock_guard const lock{mutex_};
    return own_end_.grow_file();
}

}  // namespace unisono
