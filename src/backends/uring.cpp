#include "backends/uring.hpp"

#ifdef UNISONO_HAVE_LIBURING

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "backends/run.hpp"

namespace unisono {

namespace {

constexpr unsigned ring_entries = 128;

// Operations of one list that are under way at once: enough to keep servers and devices busy, and
// few enough not to fill the queues before them. 128 of 64 KiB from each of two ranks had a link of
// 1 Gbit/s lose packets, and read two thirds as fast as four (docs/lab/tried.md).
// The kernel does linked ones one after the other.
std::size_t operations_for(std::span<Transfer const> list, unsigned entry_flags) {
    if ((entry_flags & IOSQE_IO_LINK) != 0) return std::min<std::size_t>(list.size(), ring_entries);
    constexpr std::uint64_t under_way_bytes = 256 << 10;
    constexpr std::uint64_t least = 4;
    auto const fit = under_way_bytes * list.size() / (1 + total_bytes(list));
    return std::min<std::size_t>(list.size(), std::clamp<std::uint64_t>(fit, least, ring_entries));
}

// Reasons to try the same again. ECANCELED: the thread that submitted the operation has ended.
bool is_transient(int code) { return code == EINTR || code == EAGAIN || code == ECANCELED; }

class UringAccess;

struct Operation {
    UringAccess* access = nullptr;
    ListPosition position;
    Run rest;  // what is left to transfer
    std::vector<iovec> memory;
};

// One io_uring and the lock that guards it and the accesses that are under way in it.
class Ring {
public:
    Ring() : error_(io_uring_queue_init(ring_entries, &ring_, 0)) {}
    Ring(Ring const&) = delete;
    Ring& operator=(Ring const&) = delete;
    ~Ring() {
        if (error_ == 0) io_uring_queue_exit(&ring_);
    }

    [[nodiscard]] bool is_open() const { return error_ == 0; }

    // All below only with the lock held.
    std::mutex mutex;

    // The kernel refuses to be entered: no new operations, wait for those it has.
    [[nodiscard]] bool is_broken() const { return broken_; }

    // An access that finds the ring full can wait for any completion.
    [[nodiscard]] bool has_room() const { return !broken_ && in_flight_ < ring_entries; }

    // Only when there is room.
    io_uring_sqe* next_entry() {
        ++in_flight_;
        return io_uring_get_sqe(&ring_);
    }

    // Submits what was queued, waits for `wait_count` completions and hands all there are to
    // their accesses.
    void enter(unsigned wait_count) {
        if (broken_) {
            std::this_thread::yield();
        } else {
            int const code = -io_uring_submit_and_wait(&ring_, wait_count);
            if (code > 0 && code != EBUSY && !is_transient(code)) abandon_queued();
        }
        deliver_completions();
    }

private:
    void abandon_queued();
    void deliver_completions();

    io_uring ring_{};
    int error_;
    bool broken_ = false;
    unsigned in_flight_ = 0;
};

class UringAccess final : public PendingIo {
public:
    UringAccess(Ring& ring, Backend& instead, int fd, Direction direction,
                std::span<Transfer const> list, unsigned entry_flags = 0)
        : ring_(ring),
          instead_(instead),
          fd_(fd),
          direction_(direction),
          list_(list),
          entry_flags_(entry_flags),
          next_(advance(list, {}, 0)),
          operations_(operations_for(list, entry_flags)) {
        idle_.reserve(operations_.size());
        retry_.reserve(operations_.size());
        for (auto& operation : operations_) {
            operation.access = this;
            idle_.push_back(&operation);
        }
    }

    ~UringAccess() override {
        if (!waited_) wait();
    }

    void submit() {
        std::lock_guard const lock(ring_.mutex);
        queue();
        ring_.enter(0);
    }

    bool ended() override {
        std::unique_lock lock(ring_.mutex);
        queue();
        ring_.enter(0);
        return has_ended();
    }

    IoResult wait() override {
        waited_ = true;
        {
            std::unique_lock lock(ring_.mutex);
            for (queue(); !has_ended(); queue()) ring_.enter(1);
            if (!ring_.is_broken()) return result();
        }
        // Transferring some bytes of the list twice is harmless.
        return instead_.perform(direction_, list_);
    }

    // From here on: only with the ring's lock held.
    void complete(Operation& operation, int moved_or_error) {
        --pending_;
        if (moved_or_error > 0) {
            auto const moved = static_cast<std::uint64_t>(moved_or_error);
            operation.position = advance(list_, operation.position, moved);
            operation.rest.offset += moved;
            operation.rest.bytes -= moved;
            (operation.rest.bytes > 0 ? retry_ : idle_).push_back(&operation);
        } else if (is_transient(-moved_or_error)) {
            retry_.push_back(&operation);
        } else {
            // A write that moves nothing and gives no reason would be repeated for ever.
            bool const is_silent_write = moved_or_error == 0 && direction_ == Direction::write;
            stop(operation.rest.offset, is_silent_write ? EIO : -moved_or_error);
        }
    }

    void abandon() { --pending_; }

private:
    [[nodiscard]] bool is_stopped() const { return stopped_at_ != IoResult::nowhere; }

    [[nodiscard]] bool has_ended() const {
        if (pending_ > 0) return false;
        return ring_.is_broken() ||
               (retry_.empty() && (is_stopped() || next_.index == list_.size()));
    }

    void stop(std::uint64_t offset, int code) {
        if (offset >= stopped_at_) return;
        stopped_at_ = offset;
        error_code_ = code;
    }

    // Queues as many operations as the ring takes, what came back unfinished first. Nothing behind
    // the place where the list has stopped.
    void queue() {
        while (!retry_.empty()) {
            auto* const operation = retry_.back();
            if (operation->rest.offset < stopped_at_ && !queue(*operation)) return;
            retry_.pop_back();
        }
        while (!is_stopped() && next_.index < list_.size() && !idle_.empty()) {
            auto* const operation = idle_.back();
            operation->position = next_;
            operation->rest.bytes = run_bytes_max;
            if (!queue(*operation)) return;
            next_ = advance(list_, next_, operation->rest.bytes);
            idle_.pop_back();
        }
    }

    // False when the ring has no room.
    bool queue(Operation& operation) {
        if (!ring_.has_room()) return false;
        try {
            operation.rest =
                collect_run(list_, operation.position, operation.rest.bytes, operation.memory);
        } catch (std::bad_alloc const&) {  // before an entry is taken, which would be submitted
            auto const& transfer = list_[operation.position.index];
            stop(transfer.offset + operation.position.done_bytes, ENOMEM);
            return true;
        }
        auto* const entry = ring_.next_entry();
        auto const count = static_cast<unsigned>(operation.memory.size());
        auto const prepare =
            direction_ == Direction::read ? io_uring_prep_readv : io_uring_prep_writev;
        prepare(entry, fd_, operation.memory.data(), count, operation.rest.offset);
        io_uring_sqe_set_flags(entry, entry_flags_);
        io_uring_sqe_set_data(entry, &operation);
        ++pending_;
        return true;
    }

    [[nodiscard]] IoResult result() const {
        IoResult result{bytes_before(list_, stopped_at_), stopped_at_, {}};
        char const* const call =
            direction_ == Direction::read ? "io_uring readv" : "io_uring writev";
        if (error_code_ != 0) result.error = {error_code_, call, stopped_at_};
        return result;
    }

    Ring& ring_;
    Backend& instead_;
    int fd_;
    Direction direction_;
    std::span<Transfer const> list_;
    unsigned entry_flags_;
    bool waited_ = false;

    ListPosition next_;  // the first transfer that no operation has been made for
    std::vector<Operation> operations_;
    std::vector<Operation*> idle_;
    std::vector<Operation*> retry_;
    unsigned pending_ = 0;  // operations that the ring has
    std::uint64_t stopped_at_ = IoResult::nowhere;
    int error_code_ = 0;
};

// What was queued and never reached the kernel: it is never submitted, as a broken ring is not
// entered again.
void Ring::abandon_queued() {
    broken_ = true;
    for (auto entry = *ring_.sq.khead; entry != ring_.sq.sqe_tail; ++entry) {
        auto const data = ring_.sq.sqes[entry & *ring_.sq.kring_mask].user_data;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's interface carries it as a number
        reinterpret_cast<Operation*>(data)->access->abandon();
        --in_flight_;
    }
}

void Ring::deliver_completions() {
    io_uring_cqe* completion = nullptr;
    unsigned head = 0;
    unsigned count = 0;
    io_uring_for_each_cqe(&ring_, head, completion) {
        auto* const operation = static_cast<Operation*>(io_uring_cqe_get_data(completion));
        operation->access->complete(*operation, completion->res);
        ++count;
    }
    io_uring_cq_advance(&ring_, count);
    in_flight_ -= count;
}

// Profiles may allow to make a ring but not to use it, so an operation has to come back.
bool try_ring() {
    io_uring ring{};
    if (io_uring_queue_init(1, &ring, 0) != 0) return false;
    io_uring_prep_nop(io_uring_get_sqe(&ring));
    bool const allowed = io_uring_submit_and_wait(&ring, 1) == 1;
    io_uring_queue_exit(&ring);
    return allowed;
}

// A ring that is never used, and open until the thread ends: Linux 6.18 ends a thread's workers
// when its last ring is closed, be it the one of try_ring(), and may forget what is asked of the
// next.
void keep_workers() { thread_local Ring const anchor; }

bool kernel_allows_rings() {
    keep_workers();
    static bool const allowed = try_ring();
    return allowed;
}

class UringBackend final : public Backend {
public:
    UringBackend(int fd, std::unique_ptr<Backend> instead)
        : fd_(fd), instead_(std::move(instead)) {}

    [[nodiscard]] std::string_view name() const override {
        return kernel_allows_rings() && !ring_lost_ ? "uring" : instead_->name();
    }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        auto* const ring = list.size() > 1 ? usable_ring() : nullptr;
        if (ring == nullptr) return instead_->perform(direction, list);
        return UringAccess(*ring, *instead_, fd_, direction, list).wait();
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order order) override {
        auto* const ring = usable_ring();
        if (ring == nullptr) return instead_->start(direction, list, order);
        // Without the flag, a transfer from or to the page cache is done within the submission.
        unsigned flags = IOSQE_ASYNC;
        if (order == Order::ascending) flags |= IOSQE_IO_LINK;
        auto access = std::make_unique<UringAccess>(*ring, *instead_, fd_, direction, list, flags);
        access->submit();
        return access;
    }

    [[nodiscard]] bool overlaps() const override { return true; }

    Error sync() override { return instead_->sync(); }
    Error close() override { return instead_->close(); }

private:
    // Null when there can be no ring: too little memory that may be locked, too many open files.
    Ring* usable_ring() {
        if (!kernel_allows_rings()) return nullptr;
        std::call_once(ring_made_, [this] { ring_ = std::make_unique<Ring>(); });
        if (!ring_lost_ && !is_usable(*ring_)) ring_lost_ = true;
        return ring_lost_ ? nullptr : ring_.get();
    }

    static bool is_usable(Ring& ring) {
        if (!ring.is_open()) return false;
        std::lock_guard const lock(ring.mutex);
        return !ring.is_broken();
    }

    int fd_;
    std::unique_ptr<Backend> instead_;
    std::once_flag ring_made_;
    std::unique_ptr<Ring> ring_;
    std::atomic<bool> ring_lost_ = false;  // or never had
};

}  // namespace

std::unique_ptr<Backend> make_uring_backend(int fd, std::unique_ptr<Backend> instead) {
    return std::make_unique<UringBackend>(fd, std::move(instead));
}

}  // namespace unisono

#else

namespace unisono {

std::unique_ptr<Backend> make_uring_backend(int /*fd*/, std::unique_ptr<Backend> instead) {
    return instead;
}

}  // namespace unisono

#endif
