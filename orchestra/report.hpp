#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unisono::orchestra {

/// What one server says of one program; see ProgramAtServer. Counts of samples tell what is known.
struct ServerPart {
    double requests = 0;  ///< since it was first seen
    double bytes = 0;
    double gap_sectors = 0;
    double reuse_ms = 0;
    double reuse_samples = 0;
    double open_ms = 0;
    double open_samples = 0;
    double dedicated_ms = 0;
    double dedicated_samples = 0;
    double slow_ms = 0;
    double slow_share = 0;
    double gap_sectors_linux = 0;  ///< the paper's means with Linux's weights
    double reuse_ms_linux = 0;
};

struct ProgramReport {
    std::string id;
    double held = 0;       ///< requests that wait at the gate
    double under_way = 0;  ///< requests in the servers
    double idle_ms = 0;    ///< since it last wanted something; 0 while it does
    double characteristic_s = 0;
    double phase_began_ms = 0;
    std::vector<double> files;
    std::vector<ServerPart> servers;
};

/// What a gate tells an orchestrator: the messages of the locality daemons (iorchestrator-sc10,
/// section III.A, step 2). Cumulative, so that it can be read as often as anyone likes.
struct Report {
    double now_ms = 0;  ///< on the gate's clock
    double epoch = 0;   ///< of the last schedule
    bool open = true;
    double capacity_bytes = 0;              ///< of one server's disk
    std::vector<double> gap_sectors;        ///< SL_i by server
    std::vector<double> gap_sectors_linux;  ///< the same with Linux's weights
    std::vector<double> pool_reuse_ms;      ///< by server
    std::vector<double> pool_reuse_ms_linux;
    std::vector<double> pool_reuse_samples;  ///< by server
    std::vector<ProgramReport> programs;

    [[nodiscard]] ProgramReport const* find(std::string_view id) const;
};

/// At most `bytes_max` long: the programs that were idle for longest are left out if need be.
std::string show(Report report, std::size_t bytes_max);
/// Nothing if it is malformed.
std::optional<Report> parse_report(std::string_view text);

}  // namespace unisono::orchestra
