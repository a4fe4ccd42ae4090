#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "report/phases.hpp"

namespace unisono {

/// How data get between ranks and one aggregator's buffers, within one round. There is one for the
/// aggregators with which this rank shares memory, and one for the others; both keep to one order:
///
///   writes   begin   put   deliver   collect                          (buffers are full)
///   reads    begin   ask   request   collect_requests   (file I/O)    reply   fetch   take
///
/// put, ask and take are for each aggregator that this rank may have data for; the others once a
/// round. All are local, but wait for the ranks whose data they need; who waits for whom goes in
/// the order above, so nobody waits for ever. What a round sends may be sent before the one before
/// it is collected, its answers may be fetched and taken after the next round's reply, and file I/O
/// may begin before requests are collected, where it does not depend on them.
///
/// `Round` says what of the file is in the buffers: windows (staged/), or blocks (cached/).
template <class Round>
class RoundExchange {
public:
    RoundExchange() = default;
    RoundExchange(RoundExchange const&) = delete;
    RoundExchange& operator=(RoundExchange const&) = delete;
    virtual ~RoundExchange() = default;

    virtual void begin(Round const& /*round*/) {}
    virtual void put(Round const& round, std::size_t aggregator) = 0;
    virtual void deliver(Round const& /*round*/) {}
    virtual void collect(Round const& /*round*/) {}

    virtual void ask(Round const& round, std::size_t aggregator) = 0;
    virtual void request(Round const& /*round*/) {}
    virtual void collect_requests(Round const& /*round*/) {}
    virtual void reply(Round const& /*round*/) {}
    virtual void fetch(Round const& /*round*/) {}
    virtual void take(Round const& round, std::size_t aggregator) = 0;
};

/// Both exchanges of a call, in that order. `Call` knows which aggregators are near: they share
/// memory with this rank (`is_near`), and which this rank may have data for (`for_each_window`); it
/// has the `record` in which the time goes.
template <class Call, class Round>
class NearAndFar {
public:
    using Exchange = std::unique_ptr<RoundExchange<Round>>;

    NearAndFar(Call const& call, Exchange near, Exchange far)
        : call_{call}, near_{std::move(near)}, far_{std::move(far)} {}

    /// Writes: this rank's data to the aggregators' buffers, and others' to its own ones.
    void fill(Round const& round) {
        send(round);
        complete(round);
    }
    /// The first half: what goes to other memories, which may be a round ahead.
    void send(Round const& round) {
        far_->begin(round);
        put(round, /*near=*/false);
        call_.record.lap(Phase::copying);
        far_->deliver(round);
        call_.record.lap(Phase::exchange);
    }
    /// The second half: what stays in this memory, and what comes to it.
    void complete(Round const& round) {
        put(round, /*near=*/true);
        call_.record.lap(Phase::copying);
        far_->collect(round);
        call_.record.lap(Phase::exchange);
    }

    /// Reads: what this rank wants of the buffers, and what others want of its own ones.
    void ask(Round const& round) {
        request(round);
        collect_requests(round);
    }
    /// The first half.
    void request(Round const& round) {
        far_->begin(round);
        call_.for_each_window(round, [&](std::size_t i) { to(i).ask(round, i); });
        call_.record.lap(Phase::copying);
        far_->request(round);
        call_.record.lap(Phase::exchange);
    }
    /// The second half.
    void collect_requests(Round const& round) {
        far_->collect_requests(round);
        call_.record.lap(Phase::exchange);
    }

    /// Reads: what was asked for.
    void hand_out(Round const& round) {
        answer(round);
        take_answers(round);
    }
    /// The first half: what stays in this memory, and what goes to others. The buffers are free
    /// after it.
    void answer(Round const& round) {
        far_->reply(round);
        call_.record.lap(Phase::exchange);
        take(round, /*near=*/true);
        call_.record.lap(Phase::copying);
    }
    /// The second half: what comes from others, which may be a round later.
    void take_answers(Round const& round) {
        far_->fetch(round);
        take(round, /*near=*/false);
        call_.record.lap(Phase::exchange);
    }

private:
    [[nodiscard]] RoundExchange<Round>& to(std::size_t aggregator) const {
        return call_.is_near(aggregator) ? *near_ : *far_;
    }
    void put(Round const& round, bool near) {
        call_.for_each_window(round, [&](std::size_t i) {
            if (call_.is_near(i) == near) to(i).put(round, i);
        });
    }
    void take(Round const& round, bool near) {
        call_.for_each_window(round, [&](std::size_t i) {
            if (call_.is_near(i) == near) to(i).take(round, i);
        });
    }

    Call const& call_;
    Exchange near_;
    Exchange far_;
};

}  // namespace unisono
