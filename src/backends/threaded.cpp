#include "backends/threaded.hpp"

#include <chrono>
#include <future>
#include <system_error>

#include "support/signals_blocked.hpp"

namespace unisono {

namespace {

class ThreadedIo final : public PendingIo {
public:
    explicit ThreadedIo(std::future<IoResult> result) : result_(std::move(result)) {}
    bool ended() override {
        return result_.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
    }
    IoResult wait() override { return result_.get(); }

private:
    std::future<IoResult> result_;  // its end waits for the thread
};

class ThreadedBackend final : public Backend {
public:
    explicit ThreadedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

    [[nodiscard]] std::string_view name() const override { return "threads"; }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        return inner_->perform(direction, list);
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order order) override {
        try {
            SignalsBlocked const signals_blocked;
            return std::make_unique<ThreadedIo>(std::async(
                std::launch::async, [=, this] { return inner_->perform(direction, list); }));
        } catch (std::system_error const&) {  // no thread to be had
            return Backend::start(direction, list, order);
        }
    }

    [[nodiscard]] bool overlaps() const override { return true; }

    Error sync() override { return inner_->sync(); }
    Error close() override { return inner_->close(); }

private:
    std::unique_ptr<Backend> inner_;
};

}  // namespace

std::unique_ptr<Backend> make_threaded_backend(std::unique_ptr<Backend> inner) {
    return std::make_unique<ThreadedBackend>(std::move(inner));
}

}  // namespace unisono
