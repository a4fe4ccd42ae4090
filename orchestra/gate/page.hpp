#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestra/gate/shared_file.hpp"
#include "orchestra/slice_scheduler.hpp"
#include "orchestra/time.hpp"
#include "support/descriptor.hpp"

namespace unisono::orchestra {

/// A program's id as it stands in a page: the same in every build.
std::uint64_t program_number(std::string_view id);

/// Whose turn it is, as a node daemon tells the processes of its node.
struct Admission {
    using Kind = Admitted::Kind;
    Kind kind = Kind::everyone;
    std::vector<std::uint64_t> programs;  ///< program_number()
    Time lease_end = 0;                   ///< on CLOCK_MONOTONIC; then everyone passes
};

/// The page of a gate in shared memory: written by one node daemon, read by all. One look at `kind`
/// is what an access costs while everyone may pass; the rest is guarded by a sequence lock, whose
/// reader never waits for a writer that died.
struct PageMemory {
    static constexpr std::uint64_t right_version = 0x756e69736f6e0003;
    static constexpr std::size_t programs_max = 500;

    std::uint64_t version;
    double capacity_bytes;                ///< of the file system
    std::atomic<std::uint32_t> retired;   ///< not in use any more: look for another
    std::atomic<std::uint32_t> openings;  ///< how often everyone was let in
    std::atomic<std::uint32_t> sequence;
    std::atomic<std::uint32_t> kind;
    std::atomic<std::uint32_t> count;
    std::atomic<Time> lease_end;
    std::array<std::atomic<std::uint64_t>, programs_max> programs;
};

/// The node daemon's side.
class Page {
public:
    /// Goes on with the page in `folder`, as a node daemon of this user that died left it, or makes
    /// one in the place of whatever is there. Only this user may write to the folder. Everyone may
    /// pass, until told otherwise. Throws std::runtime_error.
    Page(std::string const& folder, double capacity_bytes);

    /// More than PageMemory::programs_max programs: everyone.
    void tell(Admission const& admission);
    /// Everyone may pass, and nobody looks at it any more.
    void retire();

private:
    SharedFile<PageMemory> memory_;
};

/// A process's side.
class PageView {
public:
    /// Nothing if there is no page in `folder`, or one that should not be believed: page or folder
    /// are somebody else's than root's or this user's, others may write to them, it is no regular
    /// file, or another version. Never waits, whatever is there.
    static std::optional<PageView> find(std::string const& folder);

    /// Whose gate it is.
    [[nodiscard]] uid_t owner() const { return owner_; }

    [[nodiscard]] bool retired() const {
        return memory_->retired.load(std::memory_order_relaxed) != 0;
    }
    /// Nobody finds it any more, so no node daemon will go on with it. Cost: a system call.
    [[nodiscard]] bool is_taken_away() const;
    /// Whoever waits passes when it changes, even if the gate is closed again before anyone looked:
    /// daemons that die again and again stop nobody for longer than one lease.
    [[nodiscard]] std::uint32_t openings() const {
        return memory_->openings.load(std::memory_order_relaxed);
    }
    [[nodiscard]] double capacity_bytes() const { return memory_->capacity_bytes; }
    /// Whether a program may pass at `now`, CLOCK_MONOTONIC. A lease that ends later than any that
    /// there is (lease_max) holds nobody. Cost: one load if everyone may.
    [[nodiscard]] bool admits(std::uint64_t program, Time now) const {
        return memory_->kind.load(std::memory_order_relaxed) == 0 || admits_at_turn(program, now);
    }

private:
    PageView(Descriptor file, SharedFile<PageMemory> memory, uid_t owner)
        : file_(std::move(file)), memory_(std::move(memory)), owner_(owner) {}
    [[nodiscard]] bool admits_at_turn(std::uint64_t program, Time now) const;

    Descriptor file_;
    SharedFile<PageMemory> memory_;
    uid_t owner_;
};

}  // namespace unisono::orchestra
