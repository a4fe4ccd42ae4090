#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "coordinate/gate/page.hpp"
#include "coordinate/gate/seat.hpp"

namespace unisono::coordinate {

/// CLOCK_MONOTONIC, which the processes of a machine share.
Time monotonic_now();

/// A process at the gate of one file system: reads whose turn it is, and says what it does.
/// Thread-safe.
class GateClient {
public:
    /// One access that is under way. Says that it has finished when it goes.
    class Pass {
    public:
        Pass() = default;
        Pass(GateClient& client, std::uint32_t first_ticket, std::uint32_t count)
            : client_(&client), first_ticket_(first_ticket), count_(count) {}
        Pass(Pass&& other) noexcept { *this = std::move(other); }
        Pass& operator=(Pass&& other) noexcept;
        ~Pass() { end(); }
        void end();

        Time waited = 0;  ///< for its turn

    private:
        GateClient* client_ = nullptr;
        std::uint32_t first_ticket_ = 0;
        std::uint32_t count_ = 0;
    };

    /// The gate in one of `folders`, the first that there is; null if there is none. `program` is
    /// asked only if there is. Cost: a failed open() for each folder that is not there.
    static std::shared_ptr<GateClient> join(std::span<std::string const> folders,
                                            std::function<std::string()> const& program);

    /// There is no gate any more.
    [[nodiscard]] bool retired() const { return page_.retired(); }
    [[nodiscard]] double capacity_bytes() const { return page_.capacity_bytes(); }

    /// Returns when an access to these places may begin. While it waits it calls `progress` again
    /// and again; at the latest when the lease is over that an agent last wrote, it is let in.
    Pass enter(std::span<AccessPlace const> places, std::uint64_t file,
               std::function<void()> const& progress);

private:
    GateClient(PageView page, std::unique_ptr<Seat> seat, std::string_view program)
        : page_(std::move(page)), seat_(std::move(seat)), program_(program_number(program)) {}
    void wait(std::uint32_t openings, std::function<void()> const& progress) const;

    PageView page_;
    std::unique_ptr<Seat> seat_;
    std::uint64_t program_;
};

/// The gates that this process is at, one for each file system however many files are open on it;
/// forgotten with the last user. Thread-safe.
std::shared_ptr<GateClient> shared_gate_client(std::span<std::string const> folders,
                                               std::function<std::string()> const& program);

}  // namespace unisono::coordinate
