#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "report/phases.hpp"
#include "unisono/extent.hpp"

namespace unisono {

/// What a call spent its time on, one part after another. Of a call with more than `most` parts,
/// or of several calls, each phase once, in the order in which they first came.
/// Cost: 136 bytes, no allocation.
class Laps {
public:
    static constexpr std::size_t most = 16;

    struct Lap {
        float seconds;
        std::uint8_t phase;
        friend bool operator==(Lap const&, Lap const&) = default;
    };

    void add(std::uint8_t phase, double seconds) {
        auto const spent = static_cast<float>(seconds);
        if (count_ > 0 && laps_[count_ - 1].phase == phase) {
            laps_[count_ - 1].seconds += spent;
            return;
        }
        if (count_ == most) sum_up();
        if (summed_up_)
            add_to_sum({spent, phase});
        else
            laps_[count_++] = {spent, phase};
    }
    void merge(Laps const& other);
    [[nodiscard]] std::span<Lap const> get() const { return std::span{laps_}.first(count_); }
    friend bool operator==(Laps const& a, Laps const& b) {
        return std::ranges::equal(a.get(), b.get());
    }

private:
    void sum_up();
    void add_to_sum(Lap lap);

    std::array<Lap, most> laps_;  // not filled with zeros: each call has one, and few parts
    std::uint8_t count_ = 0;
    bool summed_up_ = false;
};

/// One call, or neighbours, with what was between them.
struct CallsInTime {
    double begin_s = 0;  ///< since the epoch, by this node's clock
    double end_s = 0;
    std::uint64_t count = 1;
    std::uint64_t bytes = 0;  ///< asked for
    Laps laps;

    /// One that was later.
    void merge(CallsInTime const& next);
    friend bool operator==(CallsInTime const&, CallsInTime const&) = default;
};

/// A list of extents that the file was accessed with, or neighbours.
struct AccessesInTime {
    double begin_s = 0;  ///< of the first; the same clock
    double end_s = 0;    ///< the beginning of the last
    std::uint64_t count = 1;
    std::uint64_t bytes = 0;
    Extent touched;

    void merge(AccessesInTime const& next);
    friend bool operator==(AccessesInTime const&, AccessesInTime const&) = default;
};

/// What happened when, on one rank or, after merge(), on several. Nothing is kept before
/// keep(). Of more than was allowed then, neighbours become one entry, always equally many: the
/// whole time is there, less exactly.
template <class Entry>
struct Timeline {
    struct Track {
        std::uint32_t rank = 0;
        std::vector<Entry> entries;
        friend bool operator==(Track const&, Track const&) = default;
    };

    std::vector<Track> tracks;

    void keep(std::uint32_t rank, std::size_t entries_at_most) {
        assert(entries_at_most > 1);
        rank_ = rank;
        at_most_ = entries_at_most;
    }
    [[nodiscard]] bool kept() const { return at_most_ > 0; }
    /// Cost: O(1) on average.
    void add(Entry const& entry) {
        if (!kept()) return;
        if (tracks.empty()) tracks.push_back({rank_, {}});
        auto& entries = tracks.front().entries;
        if (!entries.empty() && entries.back().count + entry.count <= per_entry_) {
            entries.back().merge(entry);
            return;
        }
        if (entries.size() == at_most_) join_neighbours();
        entries.push_back(entry);
    }
    void merge(Timeline const& other) {
        tracks.insert(tracks.end(), other.tracks.begin(), other.tracks.end());
        std::ranges::stable_sort(tracks, {}, &Track::rank);
    }
    friend bool operator==(Timeline const& a, Timeline const& b) { return a.tracks == b.tracks; }

private:
    void join_neighbours() {
        auto& entries = tracks.front().entries;
        for (std::size_t i = 0; i < entries.size(); i += 2) {
            auto joined = entries[i];
            if (i + 1 < entries.size()) joined.merge(entries[i + 1]);
            entries[i / 2] = std::move(joined);
        }
        entries.resize((entries.size() + 1) / 2);
        per_entry_ *= 2;
    }

    std::uint32_t rank_ = 0;
    std::size_t at_most_ = 0;
    std::uint64_t per_entry_ = 1;
};

/// Calls whose laps are of this kind of phase.
template <class AnyPhase>
struct CallTimeline : Timeline<CallsInTime> {};

/// How much of a file's timeline a rank keeps: less where there are many ranks, or were many files,
/// so that what a program's reports come to stays within some tens of megabytes.
std::size_t timeline_entries_at_most(std::uint64_t ranks, std::uint64_t earlier_files);

/// Of a time of std::chrono::steady_clock. The distance is taken once, so no step of the clock
/// tears a timeline.
double since_epoch(double steady_s);

}  // namespace unisono
