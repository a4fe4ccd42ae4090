#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "execute/staged/staged_call.hpp"

namespace unisono {

/// File I/O of one aggregator's windows. Two buffers take turns: while one is accessed, the other
/// one is filled or handed out.
class WindowIo {
public:
    WindowIo(StagedCall& call, std::size_t aggregator) : call_{call}, aggregator_{aggregator} {}

    [[nodiscard]] std::size_t aggregator() const { return aggregator_; }

    /// Starts to write what has been put into the round's window, and nothing else. After an error
    /// what lies behind it in the file is left.
    void start_writing(Round const& round);
    /// Waits for the writes from the buffer that the round does not use. What was missed.
    IoResult finish_writing_before(Round const& round) { return finish(1 - round.side()); }
    /// The same for both buffers.
    IoResult finish_all();

    /// Starts to read what is wanted of the round's window.
    void start_reading(Round const& round);
    /// Waits for that, and says in the window how much of it is there. What was missed.
    IoResult finish_reading(Round const& round);

private:
    /// How long it takes to read so much tells how fast servers are.
    static constexpr std::uint64_t telling_bytes = 256 << 10;
    /// A share of the slowest link that leaves it idle.
    static constexpr double much_room = 1.0 / 3;
    using Lists = std::vector<std::vector<Transfer>>;

    /// Lists under way, each ascending; the backend may look at them until their end.
    struct Side {
        Lists lists;
        std::vector<std::unique_ptr<PendingIo>> pending;
        double began_s = 0;
    };

    static Lists deal(std::span<Transfer const> list, std::uint64_t unit, std::size_t units);
    [[nodiscard]] bool on_several_servers(std::span<Transfer const> list) const;
    [[nodiscard]] Lists deal_beside_messages(Round const& round,
                                             std::span<Transfer const> list) const;
    [[nodiscard]] Order deal_to_read(Round const& round, Lists& lists);
    [[nodiscard]] bool is_read_beside_messages(Round const& round) const;
    /// What ranks have marked in the window, and clears the marks; what is touched of it.
    [[nodiscard]] std::vector<BufferRange> marked(Round const& round) const;
    [[nodiscard]] std::vector<BufferRange> touched(Round const& round) const;
    [[nodiscard]] std::uint64_t bytes_from_elsewhere(Round const& round) const;
    void start(Direction direction, Round const& round, std::span<BufferRange const> in_window);
    [[nodiscard]] bool fills_at_once() const;
    void take_in_holes(std::vector<Transfer>& list) const;
    void issue(Side& side, Direction direction, Order order, bool at_once);
    IoResult finish_first(Round const& round);
    [[nodiscard]] Links links() const;
    [[nodiscard]] double share_of_link(Side const& side, std::uint64_t bytes) const;
    void learn_from(Side const& side, std::uint64_t bytes) const;
    IoResult finish(int side);

    StagedCall& call_;
    std::size_t aggregator_;
    std::uint64_t failed_at_ = IoResult::nowhere;
    std::optional<Transfer> rest_;  // of a call's first window, after what is tried
    std::array<Side, 2> sides_;
};

}  // namespace unisono
