#include "model/server.hpp"

#include <algorithm>
#include <stdexcept>

#include "model/geometry.hpp"

namespace unisono::testbed {

namespace {

constexpr std::uint64_t page_bytes = PageCache::page_bytes;

PageRange pages_of(ServerRequest const& request) {
    return {request.address / page_bytes, (request.address + request.bytes - 1) / page_bytes + 1};
}

std::uint64_t bytes_of(double figure) { return static_cast<std::uint64_t>(figure); }

}  // namespace

Server::Server(Profile const& profile, ServerOptions const& options)
    : host_(profile.host),
      options_(options),
      random_(options.seed),
      drive_(make_drive(profile.drive)),
      scheduler_(make_scheduler(options.scheduler)),
      cache_(bytes_of(profile.host.page_cache_bytes)) {
    if (!scheduler_)
        throw std::runtime_error("unknown scheduler '" + options.scheduler +
                                 "'; valid: none, deadline, cfq, bfq");
}

// ---- time
// ----------------------------------------------------------------------------------------

void Server::schedule(Time time, Step step, std::uint64_t key) {
    events_.push({time, order_++, step, key});
}

void Server::submit(Time arrival, ServerRequest const& request) {
    auto const jitter =
        options_.jitter > 0
            ? static_cast<Time>(random_.below(static_cast<std::uint64_t>(options_.jitter) + 1))
            : 0;
    auto const key = next_key_++;
    progress_[key] = {.request = request};
    schedule(std::max(arrival, now_) + jitter, Step::arrive, key);
}

Time Server::next_event() const {
    Time next = events_.empty() ? never : events_.top().time;
    next = std::min(next, drive_->next_event());
    if (drive_->free_slots() > 0) next = std::min(next, scheduler_->next_event());
    if (!expired_ && dirty_since_ != never)
        next = std::min(next, dirty_since_ + from_ms(host_.dirty_expire_ms));
    return next == never ? never : std::max(next, now_);
}

void Server::advance(Time until, std::vector<Finished>& finished) {
    finished_ = &finished;
    std::vector<Finished> blocks;
    for (Time next = next_event(); next <= until && next != never; next = next_event()) {
        now_ = next;
        blocks.clear();
        drive_->advance(now_, blocks);
        for (auto const& block : blocks) block_done(block.id);
        while (!events_.empty() && events_.top().time <= now_) {
            auto const event = events_.top();
            events_.pop();
            if (event.step == Step::arrive)
                arrive(event.key);
            else
                process(event.key);
        }
        write_back();
        dispatch();
    }
    if (until != never) now_ = std::max(now_, until);
    finished_ = nullptr;
}

// ---- requests
// ------------------------------------------------------------------------------------

void Server::arrive(std::uint64_t key) {
    auto const& request = progress_.at(key).request;
    if (request.operation == Operation::read) {
        ++counters_.reads;
        counters_.read_bytes += request.bytes;
    } else if (request.operation == Operation::write) {
        ++counters_.writes;
        counters_.written_bytes += request.bytes;
    } else {
        ++counters_.flushes;
    }
    if (request.address >= previous_end_) ++counters_.ascending;
    previous_end_ = request.address + request.bytes;
    auto const depth = in_service_ + waiting_.size() + 1;
    counters_.depth_sum += depth;
    counters_.depth_max = std::max<std::uint64_t>(counters_.depth_max, depth);

    if (host_.workers > 0 && in_service_ >= static_cast<std::size_t>(host_.workers)) {
        waiting_.push_back(key);
        return;
    }
    ++in_service_;
    schedule(now_ + from_us(host_.request_us), Step::process, key);
}

void Server::process(std::uint64_t key) {
    auto& progress = progress_.at(key);
    if (progress.request.operation == Operation::flush) {
        flush(key, progress);
    } else if (progress.request.bytes == 0) {
        finish(key);
    } else if (host_.page_cache_bytes == 0) {
        bypass_cache(key, progress);
    } else if (progress.request.operation == Operation::read) {
        read(key, progress);
    } else {
        write(key, progress);
    }
}

void Server::finish(std::uint64_t key) {
    finished_->push_back({progress_.at(key).request.id, now_});
    progress_.erase(key);
    --in_service_;
    if (waiting_.empty()) return;
    ++in_service_;
    schedule(now_ + from_us(host_.request_us), Step::process, waiting_.front());
    waiting_.pop_front();
}

void Server::read(std::uint64_t key, Progress& progress) {
    auto const& request = progress.request;
    auto const range = pages_of(request);
    bool miss = false;
    for (auto page = range.begin; page < range.end; ++page) {
        miss = miss || cache_.state(page) == PageCache::State::absent;
        cache_.touch(page);
    }
    auto const ahead = read_ahead_[request.file].on_read(
        range, request.at_start, miss, range.end + request.readable_after / page_bytes,
        bytes_of(host_.read_ahead_bytes) / page_bytes);
    PageRange wanted = range;
    if (ahead && ahead->begin <= range.end) {
        wanted.end = std::max(range.end, ahead->end);
        read_missing(key, progress, wanted, range);
    } else {
        read_missing(key, progress, range, range);
        if (ahead) read_missing(key, progress, *ahead, range);
    }
    if (progress.waits_for > 0) return;
    ++counters_.cache_hits;
    finish(key);
}

// Starts reading what is absent in `range`, and makes the request wait for what is in `awaited`.
void Server::read_missing(std::uint64_t key, Progress& progress, PageRange range,
                          PageRange awaited) {
    auto const most = bytes_of(host_.block_bytes) / page_bytes;
    auto const context = context_of(progress.request);
    for (auto page = range.begin; page < range.end;) {
        auto const state = cache_.state(page);
        if (state != PageCache::State::absent) {
            if (state == PageCache::State::reading && page >= awaited.begin && page < awaited.end)
                await(cache_.block(page), key, progress);
            ++page;
            continue;
        }
        auto end = page;
        while (end < range.end && end - page < most &&
               cache_.state(end) == PageCache::State::absent)
            ++end;
        auto const block =
            add_block(Operation::read, page * page_bytes, (end - page) * page_bytes, context, true);
        blocks_[block].first_page = page;
        blocks_[block].pages = end - page;
        for (auto missing = page; missing < end; ++missing) cache_.begin_read(missing, block);
        if (page < awaited.end && end > awaited.begin) await(block, key, progress);
        page = end;
    }
}

std::uint64_t Server::dirty_limit() const { return bytes_of(host_.dirty_limit_bytes); }

void Server::write(std::uint64_t key, Progress& progress) {
    if (cache_.unwritten_bytes() + progress.request.bytes > dirty_limit() &&
        cache_.unwritten_bytes() > 0) {
        throttled_.push_back(key);
        return;
    }
    write_pages(progress.request);
    finish(key);
}

void Server::write_pages(ServerRequest const& request) {
    auto const range = pages_of(request);
    for (auto page = range.begin; page < range.end; ++page) cache_.make_dirty(page, request.file);
    if (dirty_since_ == never) dirty_since_ = now_;
}

void Server::flush(std::uint64_t key, Progress& progress) {
    auto const file = progress.request.file;
    auto const context = context_of(progress.request);
    if (host_.page_cache_bytes > 0) {
        for (auto const block : cache_.blocks_writing(file)) await(block, key, progress);
        auto const& dirty = cache_.dirty();
        for (auto page = dirty.begin(); page != dirty.end();) {
            auto const number = *page;
            if (cache_.file(number) != file) {
                ++page;
                continue;
            }
            await(write_out(page, true, context), key, progress);
            page = dirty.upper_bound(number);
        }
    }
    if (progress.waits_for == 0) flush_drive(key, progress);
}

void Server::flush_drive(std::uint64_t key, Progress& progress) {
    progress.flushing = true;
    await(add_block(Operation::flush, 0, 0, context_of(progress.request), true), key, progress);
}

void Server::bypass_cache(std::uint64_t key, Progress& progress) {
    auto const& request = progress.request;
    auto const most = bytes_of(host_.block_bytes);
    auto const begin = request.address / sector_bytes * sector_bytes;
    auto const end = request.address + request.bytes;
    for (auto at = begin; at < end; at += most)
        await(add_block(request.operation, at, std::min(most, end - at), context_of(request), true),
              key, progress);
}

// ---- block requests
// ------------------------------------------------------------------------------

std::uint64_t Server::context_of(ServerRequest const& request) const {
    switch (options_.context) {
        case ContextKind::process:
            return request.process;
        case ContextKind::file:
            return request.file;
        case ContextKind::client:
            return request.client;
        default:
            return order_;
    }
}

std::uint64_t Server::add_block(Operation operation, std::uint64_t address, std::uint64_t bytes,
                                std::uint64_t context, bool synchronous) {
    auto const id = next_block_++;
    Command const command{id, operation, address / sector_bytes,
                          (bytes + sector_bytes - 1) / sector_bytes};
    blocks_[id].request = {command, context, synchronous, options_.context != ContextKind::request};
    scheduler_->add(now_, blocks_[id].request);
    ++counters_.block_requests;
    return id;
}

void Server::await(std::uint64_t block, std::uint64_t key, Progress& progress) {
    auto& waiters = blocks_.at(block).waiters;
    if (!waiters.empty() && waiters.back() == key) return;
    waiters.push_back(key);
    ++progress.waits_for;
}

void Server::dispatch() {
    while (drive_->free_slots() > 0) {
        auto const request = scheduler_->next(now_);
        if (!request) return;
        drive_->submit(now_, request->command);
    }
}

void Server::block_done(std::uint64_t id) {
    auto const block = std::move(blocks_.at(id));
    blocks_.erase(id);
    scheduler_->finished(now_, block.request);
    for (std::uint64_t i = 0; i < block.pages; ++i) cache_.end_block(block.first_page + i, id);
    if (block.writeback) --blocks_of_write_back_;
    for (auto const key : block.waiters) {
        auto& progress = progress_.at(key);
        if (--progress.waits_for > 0) continue;
        if (progress.request.operation == Operation::flush && !progress.flushing)
            flush_drive(key, progress);
        else
            finish(key);
    }
    while (!throttled_.empty()) {
        auto const key = throttled_.front();
        auto const& request = progress_.at(key).request;
        if (cache_.unwritten_bytes() + request.bytes > dirty_limit() &&
            cache_.unwritten_bytes() > 0)
            return;
        throttled_.pop_front();
        write_pages(request);
        finish(key);
    }
}

// Sends the run of dirty pages of one file that begins at `first`.
std::uint64_t Server::write_out(std::set<std::uint64_t>::const_iterator first, bool synchronous,
                                std::uint64_t context) {
    auto const begin = *first;
    auto const file = cache_.file(begin);
    auto const most = bytes_of(host_.block_bytes) / page_bytes;
    auto end = begin;
    for (; first != cache_.dirty().end() && *first == end && end - begin < most &&
           cache_.file(end) == file;
         ++first)
        ++end;
    auto const block = add_block(Operation::write, begin * page_bytes, (end - begin) * page_bytes,
                                 context, synchronous);
    blocks_[block].first_page = begin;
    blocks_[block].pages = end - begin;
    for (auto page = begin; page < end; ++page) cache_.begin_write(page, block);
    return block;
}

bool Server::write_back_due() const {
    return expired_ || !throttled_.empty() ||
           cache_.unwritten_bytes() > bytes_of(host_.dirty_background_bytes);
}

// Ascending, and from the beginning again, as an elevator that goes one way.
void Server::write_back() {
    auto const& dirty = cache_.dirty();
    if (dirty.empty()) {
        dirty_since_ = never;
        expired_ = false;
        return;
    }
    if (now_ >= dirty_since_ + from_ms(host_.dirty_expire_ms)) expired_ = true;
    while (write_back_due() && !dirty.empty() &&
           blocks_of_write_back_ < static_cast<std::uint64_t>(host_.writeback_depth)) {
        auto page = dirty.lower_bound(write_back_page_);
        if (page == dirty.end()) page = dirty.begin();
        auto const block = write_out(page, false, 0);
        blocks_[block].writeback = true;
        write_back_page_ = blocks_[block].first_page + blocks_[block].pages;
        ++blocks_of_write_back_;
    }
}

void Server::drop_caches() {
    cache_.drop_clean();
    read_ahead_.clear();
    drive_->drop_caches(now_);
}

void Server::discard(std::uint64_t address, std::uint64_t bytes) {
    cache_.discard(address / page_bytes, (address + bytes + page_bytes - 1) / page_bytes);
}

}  // namespace unisono::testbed
