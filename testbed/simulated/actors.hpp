#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace unisono::simulated {

/// Seconds on the virtual clock; it goes on from one run to the next.
double now_s();

/// Ranks as actors of SimGrid's S4U: fibers of one thread, of which one runs until it waits, on a
/// virtual clock that goes on when none can run. The order is a function of what the ranks do, so a
/// run can be repeated exactly. SimGrid has one engine per process: one run at a time.
///
/// What follows is for ranks within run(), and any of it lets others run.
class Actors {
public:
    explicit Actors(std::uint32_t ranks);
    ~Actors();
    Actors(Actors const&) = delete;
    Actors& operator=(Actors const&) = delete;

    /// Runs `body` for every rank until all have returned or none can ever go on: those that have
    /// not returned by then are unwound from where they wait.
    ///
    /// `beside`, where there is one, is an actor besides the ranks, which may park() as rank number
    /// `ranks`, and does not keep the run from ending.
    void run(std::function<void(std::uint32_t)> const& body,
             std::function<void()> const& beside = nullptr);

    /// The ranks are being unwound: nothing may wait any more, and nothing below does.
    [[nodiscard]] bool unwinding() const { return unwinding_; }

    void sleep(double seconds);
    /// Waits until somebody wakes this rank.
    void park(std::uint32_t rank);
    /// The same, but not for longer than that; false when it was.
    bool park(std::uint32_t rank, double at_most_s);
    /// Nothing where the rank is not parked.
    void wake(std::uint32_t rank);

private:
    struct Parking;

    std::uint32_t ranks_;
    std::vector<Parking> parkings_;
    bool unwinding_ = false;
};

}  // namespace unisono::simulated
