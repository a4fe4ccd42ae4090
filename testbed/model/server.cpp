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

// Of a set that is not empty: the first that is no less, or the smallest of all.
std::uint64_t at_or_first(std::set<std::uint64_t> const& pages, std::uint64_t page) {
    auto const found = pages.lower_bound(page);
    return found == pages.end() ? *pages.begin() : *found;
}

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
    if (request.operation != Operation::flush) {
        if (request.address >= previous_end_) ++counters_.ascending;
        previous_end_ = request.address + request.bytes;
    }
    auto const depth = in_service_ + waiting_.size() + 1;
    counters_.depth_sum += depth;
    counters_.depth_max = std::max<std::uint64_t>(counters_.depth_max, depth);

    if (host_.workers > 0 && in_service_ >= static_cast<std::size_t>(host_.workers)) {
        waiting_.push_back(key);
        return;
    }
    ++in_service_;
    serve(key);
}

// glibc's asynchronous I/O does a descriptor's requests one after the other, and a server has one
// descriptor for each file.
bool Server::is_limited(ServerRequest const& request) const {
    return host_.requests_per_file > 0 && request.operation != Operation::flush;
}

// A request that has a worker.
void Server::serve(std::uint64_t key) {
    auto const& request = progress_.at(key).request;
    if (is_limited(request)) {
        auto& queue = file_queues_[request.file];
        if (queue.served >= host_.requests_per_file) {
            queue.waiting.push_back(key);
            return;
        }
        ++queue.served;
    }
    schedule(now_ + from_us(host_.request_us), Step::process, key);
}

void Server::serve_next_of_file(std::uint64_t file) {
    auto& queue = file_queues_.at(file);
    --queue.served;
    if (queue.waiting.empty()) return;
    auto const next = queue.waiting.front();
    queue.waiting.pop_front();
    serve(next);
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
    auto const request = progress_.at(key).request;
    finished_->push_back({request.id, now_});
    progress_.erase(key);
    --in_service_;
    if (is_limited(request)) serve_next_of_file(request.file);
    if (waiting_.empty()) return;
    ++in_service_;
    auto const next = waiting_.front();
    waiting_.pop_front();
    serve(next);
}

// One request as the kernel's reading ahead sees it.
class Server::Reading final : public PagesInMemory {
public:
    Reading(Server& server, std::uint64_t key, Progress& progress, PageRange awaited)
        : server_(server), key_(key), progress_(progress), awaited_(awaited) {}

    [[nodiscard]] bool has(std::uint64_t page) const override {
        return server_.cache_.state(page) != PageCache::State::absent;
    }
    std::uint64_t read(PageRange range) override {
        return server_.read_missing(key_, progress_, range, awaited_);
    }

private:
    Server& server_;
    std::uint64_t key_;
    Progress& progress_;
    PageRange awaited_;
};

void Server::read(std::uint64_t key, Progress& progress) {
    auto const& request = progress.request;
    auto const range = pages_of(request);
    for (auto page = range.begin; page < range.end; ++page) cache_.touch(page);
    auto& ahead = read_ahead_[request.file];
    if (!ahead) ahead = make_read_ahead(host_.read_ahead);
    Reading memory(*this, key, progress, range);
    ahead->on_read(range,
                   {.at_start = request.at_start,
                    .end = range.end + request.readable_after / page_bytes,
                    .limit = bytes_of(host_.read_ahead_bytes) / page_bytes},
                   memory);
    memory.read(range);
    if (progress.waits_for > 0) return;
    ++counters_.cache_hits;
    finish(key);
}

// Starts reading what is absent in `range`, and makes the request wait for what is in `awaited`.
// Returns how many pages were absent.
std::uint64_t Server::read_missing(std::uint64_t key, Progress& progress, PageRange range,
                                   PageRange awaited) {
    std::uint64_t absent = 0;
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
        auto const block = add_block(Operation::read, progress.request.file, page * page_bytes,
                                     (end - page) * page_bytes, context, true);
        blocks_[block].first_page = page;
        blocks_[block].pages = end - page;
        for (auto missing = page; missing < end; ++missing) cache_.begin_read(missing, block);
        if (page < awaited.end && end > awaited.begin) await(block, key, progress);
        absent += end - page;
        page = end;
    }
    return absent;
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
    if (std::ranges::find(files_to_write_back_, request.file) == files_to_write_back_.end())
        files_to_write_back_.push_back(request.file);
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
            await(write_out(number, true, context), key, progress);
            page = dirty.upper_bound(number);
        }
    }
    if (progress.waits_for == 0) flush_drive(key, progress);
}

void Server::flush_drive(std::uint64_t key, Progress& progress) {
    progress.flushing = true;
    await(add_block(Operation::flush, progress.request.file, 0, 0, context_of(progress.request),
                    true),
          key, progress);
}

void Server::bypass_cache(std::uint64_t key, Progress& progress) {
    auto const& request = progress.request;
    auto const most = bytes_of(host_.block_bytes);
    auto const begin = request.address / sector_bytes * sector_bytes;
    auto const end = request.address + request.bytes;
    for (auto at = begin; at < end; at += most)
        await(add_block(request.operation, request.file, at, std::min(most, end - at),
                        context_of(request), true),
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

std::uint64_t Server::add_block(Operation operation, std::uint64_t file, std::uint64_t address,
                                std::uint64_t bytes, std::uint64_t context, bool synchronous) {
    auto const id = next_block_++;
    Command const command{id, operation, address / sector_bytes,
                          (bytes + sector_bytes - 1) / sector_bytes};
    blocks_[id].request = {command, context, synchronous, options_.context != ContextKind::request};
    blocks_[id].file = file;
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
        auto const& command = request->command;
        drive_->submit(now_, command);
        if (seen_ && command.operation != Operation::flush)
            seen_({now_, blocks_.at(command.id).file, command.sector * sector_bytes});
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

// Sends the run of dirty pages of one file that begins with this one.
std::uint64_t Server::write_out(std::uint64_t begin, bool synchronous, std::uint64_t context) {
    auto const file = cache_.file(begin);
    auto const most = bytes_of(host_.block_bytes) / page_bytes;
    auto end = begin + 1;
    while (end - begin < most && cache_.state(end) == PageCache::State::dirty &&
           cache_.file(end) == file)
        ++end;
    auto const block = add_block(Operation::write, file, begin * page_bytes,
                                 (end - begin) * page_bytes, context, synchronous);
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
        auto const block = write_out(next_to_write_back(), false, 0);
        blocks_[block].writeback = true;
        note_written_back(blocks_[block]);
        ++blocks_of_write_back_;
    }
}

std::uint64_t Server::next_to_write_back() {
    return host_.writeback_file_bytes > 0 ? next_of_files()
                                          : at_or_first(cache_.dirty(), write_back_page_);
}

// File by file in the order in which they became dirty, each for its turn; within a file from where
// its last turn ended, and then from its beginning. Linux: fs/fs-writeback.c, and range_cyclic in
// mm/page-writeback.c.
std::uint64_t Server::next_of_files() {
    auto const& files = cache_.dirty_files();
    if (file_turn_pages_ >= bytes_of(host_.writeback_file_bytes) / page_bytes) {
        files_to_write_back_.push_back(files_to_write_back_.front());
        files_to_write_back_.pop_front();
        file_turn_pages_ = 0;
    }
    while (!files.contains(files_to_write_back_.front())) {
        files_to_write_back_.pop_front();
        file_turn_pages_ = 0;
    }
    auto const file = files_to_write_back_.front();
    return at_or_first(files.at(file), file_write_back_page_[file]);
}

void Server::note_written_back(Block const& block) {
    auto const end = block.first_page + block.pages;
    write_back_page_ = end;
    if (host_.writeback_file_bytes == 0) return;
    file_write_back_page_[files_to_write_back_.front()] = end;
    file_turn_pages_ += block.pages;
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
