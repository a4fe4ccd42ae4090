#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "orchestra/gate/coarse_seconds.hpp"
#include "orchestra/gate/gate_paths.hpp"
#include "orchestra/gate/page.hpp"
#include "orchestra/gate/slot.hpp"

namespace unisono::orchestra {

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
        Pass(GateClient& client, std::uint32_t first_token, std::uint32_t count)
            : client_(&client), first_token_(first_token), count_(count) {}
        Pass(Pass&& other) noexcept { *this = std::move(other); }
        Pass& operator=(Pass&& other) noexcept;
        ~Pass() { end(); }
        /// Whether somebody waits for its end.
        void waited_for(bool now);
        void end();

        Time waited = 0;  ///< for its turn

    private:
        GateClient* client_ = nullptr;
        std::uint32_t first_token_ = 0;
        std::uint32_t count_ = 0;
        bool is_waited_for_ = false;
    };

    /// The gate at one of `gates`, the first that there is; null if there is none. `program` is
    /// asked only if there is. Cost: a failed open() for each that is not there.
    static std::shared_ptr<GateClient> join(std::span<GatePaths const> gates,
                                            std::function<std::string()> const& program);

    /// There is no gate any more. That its node daemon died and then its page was taken away is
    /// noticed within a second.
    [[nodiscard]] bool retired();
    [[nodiscard]] double capacity_bytes() const { return page_.capacity_bytes(); }

    /// Returns when an access to these addresses may begin. While it waits it calls `progress`
    /// again and again. It is let in when the lease is over that a node daemon last wrote, when
    /// nobody hears of it any more, and lease_max after it came, whatever the page says.
    Pass enter(std::span<DiskAddress const> addresses, std::uint64_t file,
               std::function<void()> const& progress);

private:
    GateClient(PageView page, std::unique_ptr<Slot> slot, std::string_view program)
        : page_(std::move(page)), slot_(std::move(slot)), program_(program_number(program)) {}
    void wait(std::uint32_t openings, Time until, std::function<void()> const& progress) const;

    PageView page_;
    std::unique_ptr<Slot> slot_;
    std::uint64_t program_;
    std::atomic<std::int64_t> looked_s_ = coarse_seconds();
    std::atomic<bool> is_taken_away_ = false;
};

/// The gates that this process is at, one for each file system however many files are open on it;
/// forgotten with the last user. Null where there is none, or was none in this second. Thread-safe.
std::shared_ptr<GateClient> shared_gate_client(dev_t device, std::string const& runtime,
                                               std::function<std::string()> const& program);

}  // namespace unisono::orchestra
