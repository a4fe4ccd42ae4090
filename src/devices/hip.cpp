#include "devices/drivers.hpp"

namespace unisono {
namespace {

// From HIP's runtime interface. Memory types have other numbers from ROCm 6 on.
constexpr int success = 0;
constexpr int of_memory_type = 2, of_managed = 8;
constexpr int host_to_device = 1, device_to_host = 2;
constexpr int rocm_6 = 60'000'000;

struct Functions {
    int (*version)(int* version);
    int (*attribute)(void* value, int which, void* address);
    int (*last_error)();
    int (*forget_last_error)();
    int (*copy)(void* to, void const* from, std::size_t bytes, int kind);
    int (*copy_rows)(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
                     std::size_t width, std::size_t height, int kind);
    int (*synchronize)(void* stream);
};

void* pointer(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

class Hip final : public DeviceMemory {
public:
    Hip(Functions const& driver, unsigned device_memory)
        : driver_{driver}, device_memory_{device_memory} {}

    [[nodiscard]] char const* copy_call() const override { return "hipMemcpy"; }

    // What the CPU has allocated is an error there, which the program must not find.
    [[nodiscard]] bool holds(std::uintptr_t address) const override {
        auto const error_before = driver_.last_error();
        unsigned type = 0, managed = 0;
        auto const known = driver_.attribute(&type, of_memory_type, pointer(address)) == success &&
                           driver_.attribute(&managed, of_managed, pointer(address)) == success;
        if (!known && error_before == success) driver_.forget_last_error();
        return known && type == device_memory_ && managed == 0;
    }

    [[nodiscard]] bool copy(Direction direction, std::uintptr_t base, PieceRun const& run,
                            std::byte* packed) const override {
        auto const to_host = direction == Direction::write;
        auto const copied = copy_run(
            base, run, packed,
            [&](std::uintptr_t at, std::size_t pitch) {
                auto* const device = pointer(at);
                return (to_host ? driver_.copy_rows(packed, run.bytes, device, pitch, run.bytes,
                                                    run.count, device_to_host)
                                : driver_.copy_rows(device, pitch, packed, run.bytes, run.bytes,
                                                    run.count, host_to_device)) == success;
            },
            [&](std::uintptr_t at, std::byte* host) {
                auto* const device = pointer(at);
                return (to_host ? driver_.copy(host, device, run.bytes, device_to_host)
                                : driver_.copy(device, host, run.bytes, host_to_device)) == success;
            });
        return copied && (to_host || driver_.synchronize(nullptr) == success);
    }

private:
    Functions driver_;
    unsigned device_memory_;
};

}  // namespace

std::unique_ptr<DeviceMemory> make_hip(void* library) {
    Functions driver{};
    auto const complete = find_function(library, "hipRuntimeGetVersion", driver.version) &&
                          find_function(library, "hipPointerGetAttribute", driver.attribute) &&
                          find_function(library, "hipPeekAtLastError", driver.last_error) &&
                          find_function(library, "hipGetLastError", driver.forget_last_error) &&
                          find_function(library, "hipMemcpy", driver.copy) &&
                          find_function(library, "hipMemcpy2D", driver.copy_rows) &&
                          find_function(library, "hipStreamSynchronize", driver.synchronize);
    int version = 0;
    if (!complete || driver.version(&version) != success) return nullptr;
    return std::make_unique<Hip>(driver, version < rocm_6 ? 1 : 2);
}

}  // namespace unisono
