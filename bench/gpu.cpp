#include "gpu.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace bench {
namespace {

template <typename... Arguments>
void call(char const* name, Arguments... arguments) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) throw std::runtime_error(dlerror());
    auto* const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(std::string("libcuda.so.1 lacks ") + name);
    if (int const error = function(arguments...); error != 0)
        throw std::runtime_error(std::string(name) + " fails with error " + std::to_string(error));
}

/// The GPU's context is current within a call only: a library must not need it to be.
template <typename... Arguments>
void call_in_context(char const* name, Arguments... arguments) {
    static void* const context = [] {
        void* made = nullptr;
        call("cuInit", 0U);
        call("cuDevicePrimaryCtxRetain", &made, 0);
        return made;
    }();
    call("cuCtxPushCurrent_v2", context);
    call(name, arguments...);
    void* popped = nullptr;
    call("cuCtxPopCurrent_v2", &popped);
}

}  // namespace

GpuMemory::GpuMemory(std::size_t bytes) {
    call_in_context("cuMemAlloc_v2", &address_, std::max<std::size_t>(bytes, 1));
}

GpuMemory::~GpuMemory() { call_in_context("cuMemFree_v2", address_); }

void GpuMemory::put(std::size_t offset, std::span<std::byte const> host) {
    call_in_context("cuMemcpyHtoD_v2", address_ + offset, static_cast<void const*>(host.data()),
                    host.size());
    call_in_context("cuStreamSynchronize", static_cast<void*>(nullptr));
}

void GpuMemory::get(std::size_t offset, std::span<std::byte> host) const {
    call_in_context("cuMemcpyDtoH_v2", static_cast<void*>(host.data()), address_ + offset,
                    host.size());
}

Pinned::Pinned(std::span<std::byte> host) : host_(host.data()) {
    call_in_context("cuMemHostRegister_v2", host_, std::max<std::size_t>(host.size(), 1), 0U);
}

Pinned::~Pinned() { call_in_context("cuMemHostUnregister", host_); }

}  // namespace bench
