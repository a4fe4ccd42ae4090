#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace unisono::simulated {

/// With a network, a run can have so many nodes.
constexpr std::uint32_t nodes_max = 1024;

/// Links of a simulated machine: each node has one of its own, full duplex, to a switch that is
/// fast enough.
struct Network {
    double latency_s = 2e-6;
    double bytes_per_s = 12.5e9;

    friend bool operator==(Network const&, Network const&) = default;
};

/// Seconds on the virtual clock; it goes on from one run to the next.
double now_s();

/// A transfer over the simulated network that is under way.
class Transport {
public:
    virtual ~Transport() = default;
    /// Returns when it has arrived. For one rank, once.
    virtual void wait() = 0;
};

/// Ranks as actors of SimGrid's S4U: fibers of one thread, of which one runs until it waits, on a
/// virtual clock that goes on when none can run. The order is a function of what the ranks do, so a
/// run can be repeated exactly. SimGrid has one engine per process: one run at a time.
///
/// What follows is for ranks within run(), and any of it lets others run.
class Actors {
public:
    /// @param node_of  of each rank. Without a network all are on one host.
    explicit Actors(std::vector<std::uint32_t> node_of, std::optional<Network> const& network = {});
    ~Actors();
    Actors(Actors const&) = delete;
    Actors& operator=(Actors const&) = delete;

    /// Runs `body` for every rank until all have returned or none can ever go on: those that have
    /// not returned by then are unwound from where they wait.
    void run(std::function<void(std::uint32_t)> const& body);

    /// The ranks are being unwound: nothing may wait any more, and nothing below does.
    [[nodiscard]] bool unwinding() const { return unwinding_; }

    void sleep(double seconds);
    /// Waits until somebody wakes this rank.
    void park(std::uint32_t rank);
    /// The same, but not for longer than that; false when it was.
    bool park(std::uint32_t rank, double at_most_s);
    /// Nothing where the rank is not parked.
    void wake(std::uint32_t rank);

    /// Starts to carry bytes between two ranks' nodes, which have a network.
    std::unique_ptr<Transport> carry(std::uint32_t from, std::uint32_t to, std::uint64_t bytes);

private:
    struct Parking;

    std::vector<std::uint32_t> node_of_;
    std::vector<Parking> parkings_;
    bool unwinding_ = false;
};

}  // namespace unisono::simulated
