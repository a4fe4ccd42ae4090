#include "execute/through_host.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <optional>

namespace unisono {
namespace {

std::uint64_t window_bytes(Options const& options) {
    constexpr std::uint64_t usual = 4 << 20;
    return options.cb_buffer_size != 0 ? options.cb_buffer_size : usual;
}

/// Memory of the host that a device copies from or to.
class Window {
public:
    Window(DeviceMemory const& device, std::uintptr_t address, std::uint64_t bytes, bool pinned)
        : device_{device},
          address_{address},
          bytes_{bytes},
          memory_{new (std::nothrow) std::byte[bytes]} {
        pinned_ = pinned && memory_ != nullptr && device.pin(address, {memory_.get(), bytes});
    }
    ~Window() {
        if (pinned_) device_.unpin(address_, {memory_.get(), bytes_});
    }
    Window(Window const&) = delete;
    Window& operator=(Window const&) = delete;

    [[nodiscard]] std::byte* data() const { return memory_.get(); }  ///< null: there was no memory

private:
    DeviceMemory const& device_;
    std::uintptr_t address_;
    std::uint64_t bytes_;
    std::unique_ptr<std::byte[]> memory_;
    bool pinned_ = false;
};

/// Drivers copy narrow pieces a hundred times as fast then. Else it takes as long as it saves, and
/// longer where many ranks of a node do it at once.
bool worth_pinning(Tiling const& memory) {
    constexpr std::uint64_t narrow_bytes = 64;
    return memory.shape->pieces > 1 && memory.shape->bytes / memory.shape->pieces < narrow_bytes;
}

/// Hands out a request part by part.
class Parts {
public:
    Parts(Request const& whole, std::uint64_t bytes, CallRecord& record)
        : whole_{whole}, bytes_{bytes}, at_{whole.positions.begin}, record_{record} {
        if (whole.device == nullptr || whole.positions.empty()) return;
        auto const size = std::min(bytes, whole.positions.bytes());
        packed_ = {make_dense(size), 0, static_cast<std::int64_t>(size)};
        auto const address =
            whole.base + static_cast<std::uintptr_t>(offset_of(whole.memory, whole.memory_begin));
        window_.emplace(*whole.device, address, size, worth_pinning(whole.memory));
        if (window_->data() == nullptr) stop(ENOMEM, "malloc");
    }

    /// The next part, in memory that the CPU can access; asks for nothing after the last one.
    Request next() {
        auto part = whole_;
        part.device = nullptr;
        part.positions = {at_, std::min(at_ + bytes_, whole_.positions.end)};
        part.memory_begin += at_ - whole_.positions.begin;
        if (whole_.device == nullptr || part.positions.empty()) return part;
        part.memory = packed_;
        part.memory_begin = 0;
        part.base = reinterpret_cast<std::uintptr_t>(window_->data());
        if (part.direction == Direction::write && !copied(part.positions)) part.positions.end = at_;
        record_.lap(Phase::copying);
        return part;
    }

    /// So much of the part has been moved; less than all of it: it is the last.
    void moved(Request const& part, std::uint64_t bytes) {
        Positions const done{part.positions.begin, part.positions.begin + bytes};
        auto const to_device = whole_.device != nullptr && part.direction == Direction::read;
        if (to_device && !copied(done)) return;
        bytes_moved += bytes;
        at_ = done.end;
        if (bytes < part.positions.bytes()) whole_.positions.end = at_;
        record_.lap(Phase::copying);
    }

    std::uint64_t bytes_moved = 0;
    Error error;  ///< of the driver

private:
    // Between the window and the device.
    bool copied(Positions part) {
        auto const& device = *whole_.device;
        if (copy_packed(device, whole_.direction, whole_.in_memory(part), window_->data()))
            return true;
        stop(EFAULT, device.copy_call());
        return false;
    }

    // Nothing more of the request.
    void stop(int code, char const* call) {
        error = {code, call, static_cast<std::uint64_t>(offset_of(whole_.view, at_))};
        whole_.positions.end = at_;
    }

    Request whole_;
    std::uint64_t bytes_;
    std::uint64_t at_;
    CallRecord& record_;
    Tiling packed_{make_dense(1), 0, 1};
    std::optional<Window> window_;
};

}  // namespace

std::uint64_t host_windows(Request const& request, Options const& options) {
    return div_ceil(request.positions.bytes(), window_bytes(options));
}

Outcome perform_through_host(CollectiveFile const& file, Request const& request,
                             std::uint64_t windows, CallRecord& record) {
    auto options = file.options;
    options.select = "rule";  // what a part takes says little about whole calls
    // An error ends the call on all ranks.
    options.write_behind = options.read_ahead = Switch::disable;
    CollectiveFile const same{file.team,         file.rendezvous, file.storage,  file.layout,
                              options,           file.tuner,      file.gathered, file.cache,
                              /*storage_key=*/0, file.native};
    Parts parts{request, window_bytes(options), record};
    Outcome outcome;
    for (std::uint64_t window = 0; window < windows && outcome.verdict.code == 0; ++window) {
        auto const part = parts.next();
        auto done = perform_collective(same, part, {}, record);
        if (done.native || !done.fault.empty()) return done;
        if (window == 0) outcome = done;
        parts.moved(part, done.bytes);
        outcome.verdict = done.verdict;
    }
    Verdict of_drivers{IoResult{.error = parts.error}, file.team.rank()};
    file.rendezvous.meet(of_drivers);
    record.lap(Phase::waiting);
    outcome.verdict.merge(of_drivers);
    outcome.bytes = parts.bytes_moved;
    return outcome;
}

IoResult perform_through_host(Request const& request, Options const& options, CallRecord& record,
                              std::function<IoResult(Request const&)> const& perform) {
    Parts parts{request, window_bytes(options), record};
    IoResult last;
    for (auto part = parts.next(); !part.positions.empty() && !last.error; part = parts.next()) {
        last = perform(part);
        parts.moved(part, last.bytes);
    }
    last.bytes = parts.bytes_moved;
    if (parts.error) last.error = parts.error;
    return last;
}

}  // namespace unisono
