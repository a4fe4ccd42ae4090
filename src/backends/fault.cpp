#include "backends/fault.hpp"

#include <string.h>  // strerrorname_np is no part of <cstring>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

namespace unisono {

namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, code] = std::from_chars(text.data(), end, number);
    if (code != std::errc{} || stop != end) return std::nullopt;
    return number;
}

std::optional<int> parse_errno(std::string_view text) {
    constexpr int code_max = 4095;  // the kernel returns none above
    auto const number = parse_number(text);
    if (number && *number >= 1 && *number <= code_max) return static_cast<int>(*number);
    for (int code = 1; code <= code_max; ++code) {
        auto const* const name = strerrorname_np(code);
        if (name != nullptr && text == name) return code;
    }
    return std::nullopt;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

std::optional<Fault> parse_error_fault(std::string_view text, Direction direction) {
    auto const equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    auto const offset = parse_number(text.substr(0, equals));
    auto const code = parse_errno(text.substr(equals + 1));
    if (!offset || !code) return std::nullopt;
    return Fault{Fault::Kind::error, direction, *offset, *code, 0};
}

std::optional<Fault> parse_code_fault(std::string_view text, Fault::Kind kind) {
    auto const code = parse_errno(text);
    if (!code) return std::nullopt;
    return Fault{.kind = kind, .code = *code};
}

std::optional<Fault> parse_fault(std::string_view text) {
    if (take_prefix(text, "sync=")) return parse_code_fault(text, Fault::Kind::sync);
    if (take_prefix(text, "close=")) return parse_code_fault(text, Fault::Kind::close);
    auto direction = Direction::write;
    if (take_prefix(text, "read")) {
        direction = Direction::read;
    } else if (!take_prefix(text, "write")) {
        return std::nullopt;
    }
    if (take_prefix(text, "@")) return parse_error_fault(text, direction);
    if (text == "=short") return Fault{Fault::Kind::short_transfers, direction, 0, 0, 0};
    if (!take_prefix(text, "=delay:")) return std::nullopt;
    auto const delay_us = parse_number(text);
    if (!delay_us) return std::nullopt;
    return Fault{Fault::Kind::delay, direction, 0, 0, *delay_us};
}

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

ParsedFaults parse_faults(std::string_view specification) {
    ParsedFaults parsed;
    while (!specification.empty()) {
        auto const item = specification.substr(0, specification.find(','));
        specification.remove_prefix(std::min(specification.size(), item.size() + 1));
        if (auto const fault = parse_fault(item)) {
            parsed.faults.push_back(*fault);
            continue;
        }
        parsed.error = "invalid fault '" + std::string(item) +
                       "': use write@OFFSET=ERRNO (a name such as ENOSPC, or a number), "
                       "write=short or write=delay:MICROSECONDS, or the same with read; "
                       "sync=ERRNO, close=ERRNO";
        parsed.faults.clear();
        break;
    }
    return parsed;
}

std::unique_ptr<Backend> make_fault_backend(std::unique_ptr<Backend> inner,
                                            std::string_view specification) {
    auto parsed = parse_faults(specification);
    if (!parsed.error.empty()) return nullptr;
    return std::make_unique<FaultBackend>(std::move(inner), std::move(parsed.faults));
}

}  // namespace unisono
