#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "model/block_request.hpp"
#include "model/time.hpp"

namespace unisono::testbed {

/// The order in which a server's kernel hands block requests to the drive. Pure, like the drive.
///
/// Not modelled: merging of neighbouring requests.
class Scheduler {
public:
    Scheduler() = default;
    Scheduler(Scheduler const&) = delete;
    Scheduler& operator=(Scheduler const&) = delete;
    virtual ~Scheduler() = default;

    virtual void add(Time now, BlockRequest const& request) = 0;

    /// What to send now, when the drive has a free slot; nothing: there is nothing, or it waits.
    virtual std::optional<BlockRequest> next(Time now) = 0;

    /// A request that next() gave is done.
    virtual void finished(Time now, BlockRequest const& request) = 0;

    /// When next() may have something although nothing was added or finished.
    [[nodiscard]] virtual Time next_event() const { return never; }
};

/// "none": first come, first served. "deadline": ascending batches with time limits. "cfq": slices
/// of time per context, idle at the end of each queue for the context's next request. "bfq": the
/// same with budgets of sectors. Null for any other name.
std::unique_ptr<Scheduler> make_scheduler(std::string_view name);

}  // namespace unisono::testbed
