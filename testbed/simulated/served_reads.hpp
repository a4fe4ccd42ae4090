#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "model/server.hpp"
#include "simulated/links.hpp"
#include "unisono/extent.hpp"

namespace unisono::simulated {

/// Data servers of a profile, with their disks, caches and kernels (testbed/model), as reads see
/// them: one file, which has the same place on each server's disk.
struct ServersModel {
    testbed::Profile profile;
    testbed::ServerOptions options;  ///< the seed is the first server's; the others' follow
    std::uint64_t object_bytes = 0;  ///< of the file, on each server
};

/// Requests of one access that are not answered yet.
struct Reads {
    std::size_t left = 0;
    std::uint32_t rank = 0;
    bool waits = false;
};

/// Reads on their way: the question crosses to the server, its disk does its part, the bytes cross
/// to the node, on the link that messages use as well. Has no actor of its own: somebody calls
/// go_on() when it says.
class ServedReads {
public:
    /// `links` have `servers` ends after those of `nodes`. `wake`: a rank that waits may go on. The
    /// servers' own clock begins with 0 at `begun_s`.
    ServedReads(ServersModel const& model, Network const& network, std::size_t nodes, Links& links,
                double begun_s, std::function<void(std::uint32_t)> wake);

    /// Asks for bytes of the file's object on a server; `reads.left` has counted them.
    void begin(double now_s, std::size_t node, std::uint32_t server, Extent object,
               std::shared_ptr<Reads> reads);

    /// What is due happens. When there will be more; infinity where nothing is under way.
    double go_on(double now_s);

    /// Of all servers, since the beginning: block requests, what drives did, reads in order.
    struct Counts {
        std::uint64_t reads = 0;
        std::uint64_t ascending = 0;
        std::uint64_t block_requests = 0;
        std::uint64_t media_accesses = 0;
        double positioning_s = 0;
    };
    [[nodiscard]] Counts counts() const;

private:
    struct Read {
        std::size_t node = 0;
        std::size_t server = 0;
        std::uint64_t bytes = 0;
        std::shared_ptr<Reads> reads;
        std::shared_ptr<Crossing> crossing;
    };

    [[nodiscard]] std::vector<std::uint32_t> settle(double now_s);
    void wake(std::vector<std::uint32_t> const& ranks);
    void answer(double now_s, std::uint64_t id);
    [[nodiscard]] double next_s() const;
    [[nodiscard]] testbed::Time time_of(double now_s) const;

    ServersModel model_;
    double latency_s_;
    std::size_t nodes_;
    Links& links_;
    double begun_s_;
    std::function<void(std::uint32_t)> wake_;
    std::vector<std::unique_ptr<testbed::Server>> servers_;
    std::map<std::uint64_t, Read> under_way_;
    std::multimap<double, std::uint64_t> reach_;   // by when their first byte comes to the node
    std::multimap<double, std::uint64_t> arrive_;  // by when all of it is there
    std::uint64_t next_id_ = 1;
};

}  // namespace unisono::simulated
