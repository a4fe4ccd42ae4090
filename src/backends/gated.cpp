#include "backends/gated.hpp"

namespace unisono {

namespace {

using Pass = AdmissionGate::Pass;

class GatedIo final : public PendingIo {
public:
    GatedIo(Pass pass, std::unique_ptr<PendingIo> inner)
        : pass_(std::move(pass)), inner_(std::move(inner)) {
        if (pass_ != nullptr) pass_->waited_for(false);
    }
    bool ended() override { return inner_->ended(); }
    IoResult wait() override {
        if (pass_ != nullptr) pass_->waited_for(true);
        auto const result = inner_->wait();
        pass_.reset();
        return result;
    }

private:
    Pass pass_;  // ends after the access
    std::unique_ptr<PendingIo> inner_;
};

class GatedBackend final : public Backend {
public:
    GatedBackend(std::unique_ptr<Backend> inner, std::shared_ptr<AdmissionGate> gate)
        : inner_(std::move(inner)), gate_(std::move(gate)) {}

    [[nodiscard]] std::string_view name() const override { return inner_->name(); }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        auto const pass = gate_->enter(list);
        return inner_->perform(direction, list);
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order order) override {
        auto pass = gate_->enter(list);
        auto io = inner_->start(direction, list, order);
        return std::make_unique<GatedIo>(std::move(pass), std::move(io));
    }

    [[nodiscard]] bool overlaps() const override { return inner_->overlaps(); }

    Error sync() override { return inner_->sync(); }
    Error close() override { return inner_->close(); }

private:
    std::unique_ptr<Backend> inner_;
    std::shared_ptr<AdmissionGate> gate_;
};

}  // namespace

std::unique_ptr<Backend> make_gated_backend(std::unique_ptr<Backend> inner,
                                            std::shared_ptr<AdmissionGate> gate) {
    return std::make_unique<GatedBackend>(std::move(inner), std::move(gate));
}

}  // namespace unisono
