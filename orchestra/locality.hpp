#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "orchestra/average.hpp"
#include "orchestra/grant.hpp"

namespace unisono::orchestra {

/// What one server knows of one program.
struct ProgramAtServer {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
    PapersMean gap_sectors;   ///< the paper's SL_ij
    PapersMean reuse_ms;      ///< the paper's RD_ij: within dedicated service only
    SteadyMean open_ms;       ///< server's time per request while everyone is served
    SteadyMean dedicated_ms;  ///< the same in dedicated service; both with the time it was idle
    // While everyone is served, without idle time:
    SteadyMean slow_share;  ///< of requests that took the server as long as only a disk's head does
    SteadyMean slow_ms;     ///< how long those took
};

/// The locality daemon of one data server (iorchestrator-sc10, section III.B): distances on the
/// disk and in time between requests. The gap between two requests is the difference of their first
/// sectors, whichever is the larger: "the LBA of a request is the logical block address of the
/// requested data".
///
/// Differs: besides the paper's means there are steady ones of what the server's time was used for,
/// which need no table of seek times. Not thread-safe.
class Locality {
public:
    /// A request enters the server. `address` is a disk byte; none: it has no address (a flush).
    ///
    /// @return it begins where the request before it, anybody's, ended: no head has to move for it
    bool admitted(std::string_view program, std::optional<std::uint64_t> address,
                  std::uint64_t bytes, Time now);

    /// A request is sent to the disk, below the server's cache: this is what the paper's kernels
    /// tell of. An empty name: it is not known whose it is.
    void on_disk(std::string_view program, std::optional<std::uint64_t> address, Time now,
                 Grant const& grant);

    struct Done {
        std::uint64_t bytes = 0;
        Time admitted = 0;
        bool continues = false;  ///< what admitted() said
    };
    /// It is done.
    void finished(std::string_view program, Done const& done, Time now, Grant const& grant);

    /// The paper's SL_i.
    [[nodiscard]] PapersMean const& gap_sectors() const { return gap_sectors_; }
    /// The reuse distance of the pool, whose programs are one scheduling object.
    [[nodiscard]] PapersMean const& pool_reuse_ms() const { return pool_reuse_ms_; }
    /// Null if it was never here.
    [[nodiscard]] ProgramAtServer const* find(std::string_view program) const;
    void forget(std::string_view program);

private:
    struct Entry {
        ProgramAtServer numbers;
        std::optional<std::uint64_t> last_sector;
        std::optional<Time> last_on_disk;
    };

    Entry& entry(std::string_view program);
    void measure_reuse(Entry& entry, Time now, Grant const& grant);
    [[nodiscard]] Time pause_before(Done const& done) const;
    void measure_open(ProgramAtServer& its, Done const& done, Time now);

    std::map<std::string, Entry, std::less<>> programs_;
    PapersMean gap_sectors_;
    PapersMean pool_reuse_ms_;
    std::optional<std::uint64_t> last_sector_;
    std::optional<std::uint64_t> last_end_;  // disk byte
    SteadyMean transfer_ms_per_byte_;        // of requests that continue the one before
    std::optional<Time> last_of_pool_;
    std::optional<Time> last_finished_;
    std::optional<Time> first_since_;  // when the first request was admitted after that
};

}  // namespace unisono::orchestra
