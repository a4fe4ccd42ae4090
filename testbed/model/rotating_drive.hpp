#pragma once

#include <optional>
#include <queue>

#include "model/drive.hpp"
#include "model/geometry.hpp"
#include "model/sector_set.hpp"
#include "model/seek_curve.hpp"

namespace unisono::testbed {

/// A disk with one head.
///
/// - Positioning: seek (three-point curve), then rotation to the angle of the sector; the platters
///   turn from time 0 on.
/// - Reads leave the head reading on into the segment of the drive's cache until that is full or
///   another command needs the head. A command that begins in what was read waits for the head to
///   pass its end; one that begins further on is positioned anew (as in DiskSim), unless the
///   profile says join_read_ahead.
/// - Writes are done when they are in the write cache (if there is one). It is written out when the
///   drive is idle, when it is half full, and by a flush.
/// - Of the queued commands the one that can begin first goes first, unless one is too old.
class RotatingDrive final : public Drive {
public:
    explicit RotatingDrive(DriveProfile const& profile);

    [[nodiscard]] std::uint32_t free_slots() const override;
    void submit(Time now, Command const& command) override;
    [[nodiscard]] Time next_event() const override;
    void advance(Time until, std::vector<Finished>& finished) override;
    void drop_caches(Time now) override;
    [[nodiscard]] DriveCounters const& counters() const override { return counters_; }

private:
    static constexpr std::size_t none = ~std::size_t{0};

    struct Pending {
        Command command;
        Time arrived;
    };

    struct Segment {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;  // but for the one that is being read into
        Time used = -1;
    };

    // The head reads ahead: it passes `from` at `start`, and stops before `limit`.
    struct ReadAhead {
        std::size_t segment;
        std::uint64_t from;
        std::uint64_t limit;
        double start_ns;
    };

    struct HeadPlace {
        std::uint64_t cylinder = 0;
        std::uint32_t surface = 0;
        std::uint64_t sector = 0;
    };

    // How and when the medium would be accessed.
    struct Access {
        std::size_t queue_index = none;  // none: from the write cache
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        double begin_ns = 0;
        double end_ns = 0;
        bool write = false;
        bool continues = false;  // the head is reading there already
        HeadPlace target;
    };

    struct Active {
        Pending pending;
        Access access;
        std::size_t segment = none;
        bool destage = false;
        Time end = 0;
    };

    struct Later {
        bool operator()(Finished const& a, Finished const& b) const {
            return a.time != b.time ? a.time > b.time : a.id > b.id;
        }
    };

    void start_work(Time now);
    bool serve_one_without_medium(Time now);
    bool serve_without_medium(Time now, Pending const& pending);
    bool serve_read_from_segment(Time now, Command const& command);
    void finish_by_interface(Time now, Command const& command);
    bool accept_write(Time now, Command const& command);
    void invalidate(Time now, std::uint64_t begin, std::uint64_t end);

    [[nodiscard]] std::optional<Access> choose(Time now) const;
    [[nodiscard]] std::optional<Access> nearest_destage(Time now, HeadPlace head) const;
    [[nodiscard]] Access plan_read(Time now, std::size_t queue_index, HeadPlace head) const;
    [[nodiscard]] Access plan(double ready_ns, std::uint64_t begin, std::uint64_t end, bool write,
                              HeadPlace head) const;
    [[nodiscard]] double stream_end_ns(std::uint64_t end) const;
    [[nodiscard]] double rotation_wait_ns(double from_ns, double angle_ns) const;
    [[nodiscard]] bool must_destage(Time now) const;
    [[nodiscard]] bool flush_waits() const;

    void begin_access(Time now, Access const& access);
    void end_access();
    void start_read_ahead(std::size_t segment, double now_ns);
    void extend_read_ahead(Time now, std::size_t segment, std::uint64_t taken_end);
    void stop_read_ahead(Time now);

    [[nodiscard]] std::uint64_t frontier(double now_ns) const;  // only while reading ahead
    [[nodiscard]] std::uint64_t segment_end(std::size_t segment, Time now) const;
    [[nodiscard]] std::size_t segment_with(std::uint64_t sector, Time now) const;
    [[nodiscard]] std::size_t oldest_segment() const;
    [[nodiscard]] HeadPlace place_of(std::uint64_t sector) const;
    [[nodiscard]] HeadPlace head_at(Time now) const;
    [[nodiscard]] Time idle_destage_time() const;

    DriveProfile profile_;
    Geometry geometry_;
    SeekCurve curve_;
    std::uint64_t segment_sectors_;
    std::uint64_t write_cache_sectors_;

    std::vector<Pending> queue_;  // in the order of arrival
    std::optional<Active> active_;
    std::priority_queue<Finished, std::vector<Finished>, Later> leaving_;  // over the interface
    Time interface_free_ = 0;
    Time last_command_ = 0;
    std::vector<Segment> segments_;
    std::optional<ReadAhead> read_ahead_;
    HeadPlace head_;  // while neither accessing nor reading ahead
    SectorSet dirty_;
    DriveCounters counters_;
};

}  // namespace unisono::testbed
