#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/drive.hpp"
#include "model/page_cache.hpp"
#include "model/profile.hpp"
#include "model/random.hpp"
#include "model/read_ahead.hpp"
#include "model/scheduler.hpp"

namespace unisono::testbed {

/// A client's request for contiguous bytes of one server's disk.
struct ServerRequest {
    std::uint64_t id = 0;
    Operation operation = Operation::read;
    std::uint64_t address = 0;  ///< disk byte
    std::uint64_t bytes = 0;    ///< 0 for a flush, which is of the whole file
    std::uint64_t readable_after =
        0;                  ///< bytes behind it on the disk that are the file's next ones
    bool at_start = false;  ///< these are the file's first bytes on this server
    std::uint64_t file = 0;
    std::uint64_t process = 0;
    std::uint64_t client = 0;
};

/// A request of the server's kernel to its drive.
struct DiskRequest {
    Time sent = 0;
    std::uint64_t file = 0;
    std::uint64_t address = 0;  ///< disk byte
};

/// What the scheduler takes for a process. A server that makes a thread per request shows its
/// kernel a new one each time.
enum class ContextKind : std::uint8_t { request, process, file, client };

struct ServerOptions {
    std::string scheduler = "none";  ///< as make_scheduler()
    ContextKind context = ContextKind::process;
    Time jitter = 0;  ///< requests arrive late by up to so much, uniformly
    std::uint64_t seed = 0;
};

struct ServerCounters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t flushes = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t cache_hits = 0;  ///< reads that needed no block request
    std::uint64_t block_requests = 0;
    std::uint64_t ascending = 0;  ///< reads and writes at or above the end of the one before
    std::uint64_t depth_sum = 0;  ///< of the requests in the server, at each arrival
    std::uint64_t depth_max = 0;
};

/// One data server: request queue, page cache with read-ahead and write-back, scheduler, drive.
/// Pure, with the same rules of time as a Drive. Deterministic: the same requests, times and seed
/// give the same completions.
///
/// Not modelled: metadata, the reads that precede a write of part of a page, journals.
class Server {
public:
    Server(Profile const& profile, ServerOptions const& options);

    /// Calls `seen` for each read and write that is sent to the drive, in their order; from
    /// advance().
    void watch_disk(std::function<void(DiskRequest const&)> seen) { seen_ = std::move(seen); }

    /// A request that reaches the server's interface at `arrival`, which is now or later.
    /// The address range is on the disk.
    void submit(Time arrival, ServerRequest const& request);

    /// When something will happen without a further request.
    [[nodiscard]] Time next_event() const;

    /// Lets everything happen up to `until`; appends the requests that were done, ascending in
    /// time.
    void advance(Time until, std::vector<Finished>& finished);

    /// As after `echo 3 > drop_caches`: unwritten pages stay.
    void drop_caches();
    /// The file that had these disk bytes is gone.
    void discard(std::uint64_t address, std::uint64_t bytes);

    [[nodiscard]] ServerCounters const& counters() const { return counters_; }
    void reset_counters() { counters_ = {}; }
    [[nodiscard]] DriveCounters const& drive_counters() const { return drive_->counters(); }

private:
    enum class Step : std::uint8_t { arrive, process };

    struct Event {
        Time time;
        std::uint64_t order;
        Step step;
        std::uint64_t key;
    };

    struct Later {
        bool operator()(Event const& a, Event const& b) const {
            return a.time != b.time ? a.time > b.time : a.order > b.order;
        }
    };

    // A request from its arrival to its end.
    struct Progress {
        ServerRequest request;
        std::size_t waits_for = 0;  // block requests
        bool flushing = false;      // its pages are written, the drive's cache is next
    };

    struct Block {
        BlockRequest request;
        std::uint64_t file = 0;
        std::uint64_t first_page = 0;
        std::uint64_t pages = 0;  // 0: not through the page cache
        bool writeback = false;
        std::vector<std::uint64_t> waiters;
    };

    class Reading;

    void schedule(Time time, Step step, std::uint64_t key);
    void arrive(std::uint64_t key);
    void serve(std::uint64_t key);
    void serve_next_of_file(std::uint64_t file);
    [[nodiscard]] bool is_limited(ServerRequest const& request) const;
    void process(std::uint64_t key);
    void read(std::uint64_t key, Progress& progress);
    std::uint64_t read_missing(std::uint64_t key, Progress& progress, PageRange range,
                               PageRange awaited);
    void write(std::uint64_t key, Progress& progress);
    void write_pages(ServerRequest const& request);
    void flush(std::uint64_t key, Progress& progress);
    void flush_drive(std::uint64_t key, Progress& progress);
    void bypass_cache(std::uint64_t key, Progress& progress);
    void finish(std::uint64_t key);

    std::uint64_t add_block(Operation operation, std::uint64_t file, std::uint64_t address,
                            std::uint64_t bytes, std::uint64_t context, bool synchronous);
    void await(std::uint64_t block, std::uint64_t key, Progress& progress);
    void block_done(std::uint64_t id);
    void dispatch();
    std::uint64_t write_out(std::uint64_t begin, bool synchronous, std::uint64_t context);
    void write_back();
    [[nodiscard]] std::uint64_t next_to_write_back();
    [[nodiscard]] std::uint64_t next_of_files();
    void note_written_back(Block const& block);
    [[nodiscard]] bool write_back_due() const;
    [[nodiscard]] std::uint64_t context_of(ServerRequest const& request) const;
    [[nodiscard]] std::uint64_t dirty_limit() const;

    HostProfile host_;
    ServerOptions options_;
    Random random_;
    std::unique_ptr<Drive> drive_;
    std::unique_ptr<Scheduler> scheduler_;
    PageCache cache_;
    std::unordered_map<std::uint64_t, std::unique_ptr<ReadAhead>> read_ahead_;  // by file

    Time now_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t next_key_ = 1;
    std::uint64_t next_block_ = 1;
    std::priority_queue<Event, std::vector<Event>, Later> events_;
    std::unordered_map<std::uint64_t, Progress> progress_;
    std::unordered_map<std::uint64_t, Block> blocks_;
    std::deque<std::uint64_t> waiting_;    // for a worker
    std::deque<std::uint64_t> throttled_;  // writes, for the write-out
    std::size_t in_service_ = 0;
    struct FileQueue {
        double served = 0;
        std::deque<std::uint64_t> waiting;
    };
    std::unordered_map<std::uint64_t, FileQueue>
        file_queues_;  // where requests_per_file is a limit
    std::uint64_t blocks_of_write_back_ = 0;
    std::uint64_t write_back_page_ = 0;              // where the write-out goes on
    std::deque<std::uint64_t> files_to_write_back_;  // the first has its turn
    std::uint64_t file_turn_pages_ = 0;              // of it that were sent in this turn
    std::unordered_map<std::uint64_t, std::uint64_t> file_write_back_page_;
    Time dirty_since_ = never;
    bool expired_ = false;  // everything is to be written out
    std::uint64_t previous_end_ = 0;
    std::vector<Finished>* finished_ = nullptr;
    std::function<void(DiskRequest const&)> seen_;
    ServerCounters counters_;
};

}  // namespace unisono::testbed
