#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/read_ahead.hpp"

namespace unisono::testbed {

/// What a data server stores on. MB are 10^6 bytes, as in data sheets.
struct DriveProfile {
    std::string kind;  ///< "rotating", "solid_state" (no positions) or "instant"
    double capacity_bytes = 0;
    double interface_mb_s = 0;  ///< 0: infinitely fast
    double queue_depth = 1;     ///< commands that the drive takes at once (NCQ)
    double overhead_ms = 0;     ///< before a command begins

    // rotating
    double rpm = 0;
    double surfaces = 0;
    double zones = 0;
    double outer_mb_s = 0;  ///< sustained, track switches included
    double inner_mb_s = 0;
    double seek_track_ms = 0;
    double seek_average_ms = 0;
    double seek_full_ms = 0;     ///< 0: not published
    double write_settle_ms = 0;  ///< a write's seek is that much longer than a read's
    double head_switch_ms = 0;
    double cylinder_switch_ms = 0;
    double segments = 0;
    double segment_bytes = 0;
    double join_read_ahead = 0;    ///< 1: a read may begin in what is about to be read ahead
    double write_cache_bytes = 0;  ///< 0: writes are on the medium before they are reported
    double destage_idle_ms = 0;    ///< no command for so long: the write cache is emptied
    double command_age_ms = 0;     ///< an older command goes before a nearer one

    // solid state
    double read_us = 0;
    double write_us = 0;
    double flush_us = 0;
    double channels = 0;  ///< commands served at the same time
};

/// A data server between its link and its drive.
struct HostProfile {
    double request_us = 0;  ///< the server's own time for one request
    double workers = 0;     ///< requests in service at once, the others wait; 0: any number
    /// Reads and writes of one file at once, the file's others wait and keep their workers; 0: any
    /// number
    double requests_per_file = 0;
    double block_bytes = 0;  ///< the longest request that goes to the drive
    double page_cache_bytes = 0;
    ReadAheadKind read_ahead = ReadAheadKind::on_demand;  ///< needed where there are bytes of it
    double read_ahead_bytes = 0;
    double dirty_background_bytes = 0;  ///< more than that: write-out begins
    double dirty_limit_bytes = 0;       ///< more than that: writers wait
    double dirty_expire_ms = 0;         ///< older than that: write-out begins
    double writeback_depth = 0;         ///< block requests of the write-out at once
    /// The write-out goes to the next file after so much; 0: ascending over all files
    double writeback_file_bytes = 0;
};

struct LinkProfile {
    double server_mb_s = 0;  ///< of each server, in each direction; 0: infinitely fast
    double client_mb_s = 0;  ///< of each client node
    double latency_us = 0;   ///< one way
};

struct Profile {
    std::string name;
    std::string summary;
    DriveProfile drive;
    HostProfile host;
    LinkProfile link;
};

/// One figure of a profile, for people: where it is from.
struct Figure {
    std::string name;  ///< "drive.rpm"
    double value = 0;
    std::string word;  ///< instead of a value
    std::string source;
};

/// Reads a profile: JSON whose figures are {"value": number, "source": text}; host.read_ahead's
/// value is a word. Throws std::runtime_error that names the entry: one is unknown, has no number
/// or no source, or contradicts another.
Profile parse_profile(std::string_view json);

/// The figures in the order of the structures above. Throws as parse_profile().
std::vector<Figure> figures_of(std::string_view json);

}  // namespace unisono::testbed
