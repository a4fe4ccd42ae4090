#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinate/gate/shared_file.hpp"
#include "coordinate/time.hpp"
#include "coordinate/turnstile.hpp"

namespace unisono::coordinate {

/// A program's id as it stands in a page.
std::uint64_t program_number(std::string_view id);

/// Whose turn it is, as an agent tells the processes of its node.
struct Admission {
    using Kind = Admitted::Kind;
    Kind kind = Kind::everyone;
    std::vector<std::uint64_t> programs;  ///< program_number()
    Time lease_end = 0;                   ///< on CLOCK_MONOTONIC; then everyone passes
};

/// The page of a gate in shared memory: written by one agent, read by all. One look at `kind` is
/// what an access costs while everyone may pass; the rest is guarded by a sequence lock, whose
/// reader never waits for a writer that died.
struct PageMemory {
    static constexpr std::uint64_t right_version = 0x756e69736f6e0001;
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

/// The agent's side.
class Page {
public:
    /// Goes on with the page in `folder`, as somebody who died left it, or makes one. Everyone may
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
    /// Nothing if there is no page in `folder`, or one that should not be believed: somebody else's
    /// than root's or this user's, one that others may write to, another version.
    static std::optional<PageView> find(std::string const& folder);

    [[nodiscard]] bool retired() const {
        return memory_->retired.load(std::memory_order_relaxed) != 0;
    }
    /// Whoever waits passes when it changes, even if the gate is closed again before anyone looked:
    /// daemons that die again and again stop nobody for longer than one lease.
    [[nodiscard]] std::uint32_t openings() const {
        return memory_->openings.load(std::memory_order_relaxed);
    }
    [[nodiscard]] double capacity_bytes() const { return memory_->capacity_bytes; }
    /// Whether a program may pass at `now`, CLOCK_MONOTONIC. Cost: one load if everyone may.
    [[nodiscard]] bool admits(std::uint64_t program, Time now) const {
        return memory_->kind.load(std::memory_order_relaxed) == 0 || admits_at_turn(program, now);
    }

private:
    explicit PageView(SharedFile<PageMemory> memory) : memory_(std::move(memory)) {}
    [[nodiscard]] bool admits_at_turn(std::uint64_t program, Time now) const;

    SharedFile<PageMemory> memory_;
};

}  // namespace unisono::coordinate
