#include "devices/drivers.hpp"

namespace unisono {
namespace {

// From CUDA's driver interface, which stays compatible.
using Context = void*;
constexpr int success = 0;
constexpr int of_context = 1, of_memory_type = 2, of_managed = 8, of_device = 9;
constexpr unsigned host_memory = 1, device_memory = 2;

struct Side {
    std::size_t x_bytes = 0;
    std::size_t y = 0;
    unsigned type = 0;
    void* host = nullptr;
    unsigned long long device = 0;
    void* array = nullptr;
    std::size_t pitch_bytes = 0;
};

struct Rows {
    Side from;
    Side to;
    std::size_t width_bytes = 0;
    std::size_t height = 0;
};

struct Functions {
    int (*attribute)(void* value, int which, unsigned long long address);
    int (*push)(Context);
    int (*pop)(Context*);
    int (*retain)(Context*, int device);
    int (*release)(int device);
    int (*to_host)(void* to, unsigned long long from, std::size_t bytes);
    int (*to_device)(unsigned long long to, void const* from, std::size_t bytes);
    int (*copy_rows)(Rows const*);
    int (*synchronize)(void* stream);
    int (*pin)(void* host, std::size_t bytes, unsigned flags);  // or null
    int (*unpin)(void* host);
};

// Copies need a current context: the memory's own, or the device's for memory of pools.
class CurrentContext {
public:
    CurrentContext(Functions const& driver, std::uintptr_t address) : driver_{driver} {
        Context context = nullptr;
        driver_.attribute(&context, of_context, address);
        if (context == nullptr && driver_.attribute(&device_, of_device, address) == success &&
            driver_.retain(&context, device_) == success)
            retained_ = true;
        pushed_ = context != nullptr && driver_.push(context) == success;
    }
    ~CurrentContext() {
        Context popped = nullptr;
        if (pushed_) driver_.pop(&popped);
        if (retained_) driver_.release(device_);
    }
    CurrentContext(CurrentContext const&) = delete;
    CurrentContext& operator=(CurrentContext const&) = delete;

private:
    Functions const& driver_;
    int device_ = 0;
    bool retained_ = false;
    bool pushed_ = false;
};

class Cuda final : public DeviceMemory {
public:
    explicit Cuda(Functions const& driver) : driver_{driver} {}

    [[nodiscard]] char const* copy_call() const override { return "cuMemcpy"; }

    // Managed memory comes to the CPU by itself.
    [[nodiscard]] bool holds(std::uintptr_t address) const override {
        unsigned type = 0, managed = 0;
        return driver_.attribute(&type, of_memory_type, address) == success &&
               type == device_memory &&
               driver_.attribute(&managed, of_managed, address) == success && managed == 0;
    }

    // A copy from memory that is not pinned may return before the device sees it.
    [[nodiscard]] bool copy(Direction direction, std::uintptr_t base, PieceRun const& run,
                            std::byte* packed) const override {
        auto const to_host = direction == Direction::write;
        CurrentContext const current{driver_, base + static_cast<std::uintptr_t>(run.offset)};
        auto const copied = copy_run(
            base, run, packed,
            [&](std::uintptr_t at, std::size_t pitch) {
                Side const host{.type = host_memory, .host = packed, .pitch_bytes = run.bytes};
                Side const device{.type = device_memory, .device = at, .pitch_bytes = pitch};
                Rows const rows{to_host ? device : host, to_host ? host : device, run.bytes,
                                run.count};
                return driver_.copy_rows(&rows) == success;
            },
            [&](std::uintptr_t at, std::byte* host) {
                return (to_host ? driver_.to_host(host, at, run.bytes)
                                : driver_.to_device(at, host, run.bytes)) == success;
            });
        return copied && (to_host || driver_.synchronize(nullptr) == success);
    }

    [[nodiscard]] bool pin(std::uintptr_t address, std::span<std::byte> host) const override {
        CurrentContext const current{driver_, address};
        return driver_.pin != nullptr && driver_.pin(host.data(), host.size(), 0) == success;
    }

    void unpin(std::uintptr_t address, std::span<std::byte> host) const override {
        CurrentContext const current{driver_, address};
        driver_.unpin(host.data());
    }

private:
    Functions driver_;
};

}  // namespace

std::unique_ptr<DeviceMemory> make_cuda(void* library) {
    Functions driver{};
    auto const complete = find_function(library, "cuPointerGetAttribute", driver.attribute) &&
                          find_function(library, "cuCtxPushCurrent_v2", driver.push) &&
                          find_function(library, "cuCtxPopCurrent_v2", driver.pop) &&
                          find_function(library, "cuDevicePrimaryCtxRetain", driver.retain) &&
                          find_function(library, "cuDevicePrimaryCtxRelease", driver.release) &&
                          find_function(library, "cuMemcpyDtoH_v2", driver.to_host) &&
                          find_function(library, "cuMemcpyHtoD_v2", driver.to_device) &&
                          find_function(library, "cuMemcpy2DUnaligned_v2", driver.copy_rows) &&
                          find_function(library, "cuStreamSynchronize", driver.synchronize);
    if (!find_function(library, "cuMemHostRegister_v2", driver.pin) ||
        !find_function(library, "cuMemHostUnregister", driver.unpin))
        driver.pin = nullptr;
    return complete ? std::make_unique<Cuda>(driver) : nullptr;
}

}  // namespace unisono
