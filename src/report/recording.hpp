#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "unisono/plan.hpp"
#include "unisono/view.hpp"

namespace unisono {

enum class RecordedKind : std::uint8_t { write, read, sync };

/// Which bytes the collective calls on one file asked for, rank by rank, so that `unisono replay`
/// can do them again without the program. What was in them is not kept, nor are independent calls,
/// memory datatypes and times. Nothing is kept before keep().
///
/// Each rank keeps the beginning: from the first call on that it has no room for, or that Unisono
/// cannot describe, it only counts. Of several ranks that have not kept equally many calls, those
/// that all have are the beginning.
class Recording {
public:
    /// A tile of a view; where the first one lies is a matter of the calls.
    struct View {
        std::string shape;  ///< shape_text()
        std::int64_t extent = 1;
        friend bool operator==(View const&, View const&) = default;
    };
    /// One call, or several in a row whose places are equal steps apart.
    struct Calls {
        RecordedKind kind = RecordedKind::write;
        std::uint32_t view = 0;
        std::int64_t origin = 0;  ///< of the view, in the file
        std::uint64_t first = 0;  ///< data position in the view
        std::uint64_t bytes = 0;
        std::uint64_t count = 1;
        std::int64_t origin_step = 0;
        std::int64_t first_step = 0;
        friend bool operator==(Calls const&, Calls const&) = default;
    };
    struct Track {
        std::uint32_t rank = 0;  ///< of the file's communicator
        std::vector<View> views;
        std::vector<Calls> calls;
        std::uint64_t left_out = 0;
        friend bool operator==(Track const&, Track const&) = default;
    };

    std::vector<Track> by_rank;
    std::string access;                                      ///< "r", "w" or "rw"
    std::vector<std::pair<std::string, std::string>> hints;  ///< of the program

    void keep(std::uint32_t rank, std::size_t bytes_at_most, std::string opened_for);
    [[nodiscard]] bool kept() const { return bytes_at_most_ > 0; }
    /// Cost: O(1) where the view's shape is one of the last few calls', else O(its description).
    void add(Direction direction, Tiling const& view, Positions positions);
    void add_sync();
    /// A collective call that cannot be described.
    void add_unknown();
    void merge(Recording const& other);
    friend bool operator==(Recording const& a, Recording const& b) {
        return a.by_rank == b.by_rank && a.access == b.access && a.hints == b.hints;
    }

private:
    struct Known {
        ShapePtr shape;
        std::int64_t extent;
        std::uint32_t number;
    };

    void append(Calls const& call);
    bool take_room(std::size_t bytes);
    /// None if there is no room for it.
    [[nodiscard]] std::uint32_t const* number_of(Tiling const& view);

    std::size_t bytes_at_most_ = 0;
    std::size_t bytes_used_ = 0;
    bool full_ = false;
    std::vector<Known> known_;
};

/// How much of a file's calls a rank keeps: less where there are many ranks, or were many files.
std::size_t recording_bytes_at_most(std::uint64_t ranks, std::uint64_t earlier_files);

}  // namespace unisono
