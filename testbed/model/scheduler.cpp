#include "model/scheduler.hpp"

#include <deque>

#include "model/bfq.hpp"
#include "model/cfq.hpp"
#include "model/deadline.hpp"

namespace unisono::testbed {

namespace {

class FirstComeFirstServed final : public Scheduler {
public:
    void add(Time /*now*/, BlockRequest const& request) override { queue_.push_back(request); }

    std::optional<BlockRequest> next(Time /*now*/) override {
        if (queue_.empty()) return {};
        auto const request = queue_.front();
        queue_.pop_front();
        return request;
    }

    void finished(Time /*now*/, BlockRequest const& /*request*/) override {}

private:
    std::deque<BlockRequest> queue_;
};

}  // namespace

std::unique_ptr<Scheduler> make_scheduler(std::string_view name) {
    if (name == "none") return std::make_unique<FirstComeFirstServed>();
    if (name == "deadline") return std::make_unique<Deadline>();
    if (name == "cfq") return std::make_unique<Cfq>();
    if (name == "bfq") return std::make_unique<Bfq>();
    return nullptr;
}

}  // namespace unisono::testbed
