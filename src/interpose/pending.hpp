#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "execute/collective.hpp"
#include "interpose/data_call.hpp"

namespace unisono::interpose {

/// A nonblocking or split call on its way: begun by the program's thread, done by a helper thread,
/// and ended by the program's thread again, which alone may call MPI.
struct PendingCall {
    enum class Stage : std::uint8_t {
        helped,   ///< the helper thread has it
        done,     ///< and is through with it
        refused,  ///< all ranks have found that helpers cannot do it: each does its part by itself
        begun,    ///< which a thread of the program does
        over      ///< the program can know how it went
    };

    /// Keeps a type of its own: the program may free the one that it gave.
    PendingCall(std::shared_ptr<File> of, DataCall with, Prepared translated);
    PendingCall(PendingCall const&) = delete;
    PendingCall& operator=(PendingCall const&) = delete;

    /// From the helper thread, and the last that it does with the call: the outcome is there.
    void finish(Stage with);
    /// From the program's thread: it is over, and needs nothing of MPI any more.
    void end();

    std::shared_ptr<File> file;  ///< until it is over
    bool threaded;               ///< several threads of the program may call MPI
    DataCall call;
    Prepared prepared;
    std::atomic<Stage> stage = Stage::helped;
    Outcome outcome;                          ///< once it is done
    std::string difference;                   ///< ranks were in different calls
    MPI_Request request = MPI_REQUEST_NULL;   ///< the program's; none: a split call
    std::optional<std::uint64_t> file_bytes;  ///< when it began, for CallerFacts
    std::uint64_t number = 0;                 ///< of the file's collective calls; 0: none
    std::uint64_t bytes = 0;                  ///< truly moved, once it is over
    int code = MPI_SUCCESS;                   ///< likewise; nothing was raised
    std::atomic<bool> released = false;       ///< the program has let go of its request
    std::atomic<bool> freed = false;          ///< and does not wait for it
    std::atomic<bool> told_later = false;     ///< what it lost is, at the next sync or close
};

/// The nonblocking calls of this process that programs wait for by MPI_Wait and its like.
/// Thread-safe. Any of the program's threads that asks for one moves all of them on.
class PendingCalls {
public:
    static PendingCalls& all();

    /// There is something to move on. Cost: a load.
    [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

    /// Makes the request that the program gets, and keeps the call until both are through with it.
    /// There is none where that fails, or throws.
    int add(std::shared_ptr<PendingCall> const& call, MPI_Request* request);

    /// From the program's threads: what is done is told to MPI, what helpers cannot do is done.
    void move_on();

    /// For each request its call, or null.
    [[nodiscard]] std::vector<std::shared_ptr<PendingCall>> of(
        std::span<MPI_Request const> requests) const;

    /// While it lives, a thread of the program waits: helpers hurry.
    class Waiting {
    public:
        Waiting() { ++all().waiting_; }
        ~Waiting() { --all().waiting_; }
        Waiting(Waiting const&) = delete;
        Waiting& operator=(Waiting const&) = delete;
        /// Until a call is done, or for a moment; messages are carried.
        static void for_a_moment();
    };
    [[nodiscard]] std::atomic<int> const& waiting() const { return waiting_; }

private:
    friend struct PendingCall;

    std::vector<std::shared_ptr<PendingCall>> move_on_quick_ones();

    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<PendingCall>> calls_;
    std::atomic<std::size_t> count_ = 0;  // of these
    std::atomic<int> waiting_ = 0;
    std::mutex done_mutex_;
    std::condition_variable done_;
};

/// While it lives the program's thread waits, and other ranks of its node see for which collective
/// call: as if it were in a blocking one. Not where several threads may wait at once.
class SeenWaiting {
public:
    SeenWaiting() = default;
    ~SeenWaiting();
    SeenWaiting(SeenWaiting const&) = delete;
    SeenWaiting& operator=(SeenWaiting const&) = delete;

    /// Now and then: for this one from here on; null or independent: for none. Looks whether others
    /// are stuck, as ranks do that wait at a meeting.
    void wait_for(PendingCall const* call);

private:
    void leave();

    std::shared_ptr<Context> context_;  // outlives the note
    CallNote* note_ = nullptr;
    CallSeen before_;
};

/// The program's part of a call that goes on beside it.
std::shared_ptr<PendingCall> begin_beside(std::shared_ptr<File> const& file, DataCall const& call,
                                          bool collective);

/// What has come of a call that is done, or that the MPI library wants to be given: its stage is
/// `over` after that, or `native`. From a thread of the program.
void move_on(PendingCall& call);

/// Nobody waits for the call any more.
void note_freed(PendingCall& call);

}  // namespace unisono::interpose
