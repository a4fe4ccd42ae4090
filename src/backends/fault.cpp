#include "backends/fault.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "options/fault_text.hpp"

namespace unisono {

namespace {

class FaultBackend final : public Backend {
public:
    FaultBackend(std::unique_ptr<Backend> inner, std::vector<Fault> faults)
        : inner_(std::move(inner)), faults_(std::move(faults)) {}

    [[nodiscard]] std::string_view name() const override { return inner_->name(); }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        delay(direction);
        auto const* const fault = first_error(direction, list);
        if (fault == nullptr) return pass_on(direction, list);

        std::vector<Transfer> before;
        for (auto transfer : list) {
            if (transfer.offset >= fault->offset) break;
            transfer.bytes = std::min(transfer.bytes, fault->offset - transfer.offset);
            before.push_back(transfer);
        }
        auto result = pass_on(direction, before);
        if (result.stopped_at != IoResult::nowhere) return result;
        result.stopped_at = fault->offset;
        result.error = {fault->code, "fault", fault->offset};
        return result;
    }

    Error sync() override { return instead_of(inner_->sync(), Fault::Kind::sync); }
    Error close() override { return instead_of(inner_->close(), Fault::Kind::close); }

private:
    [[nodiscard]] Error instead_of(Error real, Fault::Kind kind) const {
        auto const fault = std::ranges::find(faults_, kind, &Fault::kind);
        if (real || fault == faults_.end()) return real;
        return {fault->code, "fault", Error::whole_file};
    }

    void delay(Direction direction) const {
        for (auto const& fault : faults_) {
            if (fault.kind == Fault::Kind::delay && fault.direction == direction) {
                std::this_thread::sleep_for(std::chrono::microseconds(fault.delay_us));
            }
        }
    }

    /// The error with the lowest offset that the list touches; null when there is none.
    Fault const* first_error(Direction direction, std::span<Transfer const> list) const {
        Fault const* first = nullptr;
        for (auto const& fault : faults_) {
            if (fault.kind != Fault::Kind::error || fault.direction != direction) continue;
            if (first != nullptr && first->offset <= fault.offset) continue;
            auto const touches = [&](Transfer const& transfer) {
                return transfer.offset <= fault.offset &&
                       fault.offset - transfer.offset < transfer.bytes;
            };
            if (std::any_of(list.begin(), list.end(), touches)) first = &fault;
        }
        return first;
    }

    IoResult pass_on(Direction direction, std::span<Transfer const> list) {
        auto const cuts = [&](Fault const& fault) {
            return fault.kind == Fault::Kind::short_transfers && fault.direction == direction;
        };
        if (std::none_of(faults_.begin(), faults_.end(), cuts)) {
            return inner_->perform(direction, list);
        }
        return pass_on_in_pieces(direction, list);
    }

    IoResult pass_on_in_pieces(Direction direction, std::span<Transfer const> list) {
        std::minstd_rand random(++accesses_);
        IoResult result;
        std::vector<Transfer> piece;
        for (auto transfer : list) {
            while (transfer.bytes > 0) {
                auto const bytes = 1 + random() % transfer.bytes;
                piece.push_back({transfer.offset, transfer.memory, bytes});
                transfer = {transfer.offset + bytes, transfer.memory + bytes,
                            transfer.bytes - bytes};
                if (random() % 4 != 0) continue;
                if (!append(result, direction, piece)) return result;
                piece.clear();
            }
        }
        append(result, direction, piece);
        return result;
    }

    /// False when the access has come to its end.
    bool append(IoResult& result, Direction direction, std::span<Transfer const> piece) {
        auto const part = inner_->perform(direction, piece);
        result = {result.bytes + part.bytes, part.stopped_at, part.error};
        return result.stopped_at == IoResult::nowhere;
    }

    std::unique_ptr<Backend> inner_;
    std::vector<Fault> faults_;
    std::atomic<std::uint_fast32_t> accesses_{0};  // seeds the cuts: replayable without a lock
};

}  // namespace

std::unique_ptr<Backend> make_fault_backend(std::unique_ptr<Backend> inner,
                                            std::string_view specification) {
    auto faults = parse_faults(specification);
    if (!faults) return nullptr;
    return std::make_unique<FaultBackend>(std::move(inner), std::move(*faults));
}

}  // namespace unisono
