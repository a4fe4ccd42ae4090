// Stands for a GPU's driver, libcuda.so.1 or (STAND_IN_HIP) libamdhip64.so.6, as far as Unisono and
// these tests call it. The device's memory is mapped twice: where the program has it the CPU cannot
// access it, and only the copies below know the other place.
// UNISONO_TEST_GPU_MODE: "pool": allocations have no context of their own, as those of memory
// pools; "no_copies": copies fail; "managed": the memory comes to the CPU by itself. In the last
// two the CPU can access it.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { arena_bytes = 1 << 30, align = 256 };
enum { success = 0, invalid_value = 1, invalid_context = 201 };
enum { of_context = 1, of_memory_type = 2, of_managed = 8, of_device = 9 };

static char* outside;  // where the program has the arena
static char* inside;
static size_t used;
static int live;
static size_t copies, copy_bytes_max;

static int in_mode(char const* name) {
    char const* mode = getenv("UNISONO_TEST_GPU_MODE");
    return mode != NULL && strcmp(mode, name) == 0;
}

__attribute__((constructor)) static void make_arena(void) {
    int const fd = memfd_create("stand-in-gpu", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, arena_bytes) != 0) abort();
    int const open = in_mode("no_copies") || in_mode("managed");
    int const access = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    outside = mmap(NULL, arena_bytes, access, MAP_SHARED, fd, 0);
    inside = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (outside == MAP_FAILED || inside == MAP_FAILED) abort();
    close(fd);
}

static int is_ours(uintptr_t address) { return address - (uintptr_t)outside < arena_bytes; }

static void* inside_of(uintptr_t address) {
    return is_ours(address) ? inside + (address - (uintptr_t)outside) : (void*)address;
}

static void* allocate(size_t bytes) {
    if (used + bytes + align > arena_bytes) return NULL;
    char* const memory = outside + used;
    used += (bytes + align) / align * align;
    ++live;
    return memory;
}

static void let_go(void) {
    if (--live == 0) used = 0;
}

static int copy(uintptr_t to, size_t to_pitch, uintptr_t from, size_t from_pitch, size_t width,
                size_t height) {
    if (in_mode("no_copies")) return invalid_value;
    __atomic_add_fetch(&copies, 1, __ATOMIC_RELAXED);
    if (width * height > copy_bytes_max) copy_bytes_max = width * height;
    for (size_t row = 0; row < height; ++row)
        memcpy(inside_of(to + row * to_pitch), inside_of(from + row * from_pitch), width);
    return success;
}

// For tests.
EXPORT size_t stand_in_copies(void) { return copies; }
EXPORT size_t stand_in_copy_bytes_max(void) { return copy_bytes_max; }

#ifdef STAND_IN_HIP

static __thread int last_error;
static int fails(int error) { return error == success ? success : (last_error = error); }

EXPORT int hipRuntimeGetVersion(int* version) {
    *version = 60000000;
    return success;
}
EXPORT int hipMalloc(void** memory, size_t bytes) {
    *memory = allocate(bytes);
    return fails(*memory == NULL ? invalid_value : success);
}
EXPORT int hipFree(void* memory) {
    if (memory != NULL) let_go();
    return success;
}
EXPORT int hipPointerGetAttribute(void* value, int which, void* address) {
    if (!is_ours((uintptr_t)address)) return fails(invalid_value);
    *(unsigned*)value = which == of_memory_type ? 2 : in_mode("managed");
    return success;
}
EXPORT int hipPeekAtLastError(void) { return last_error; }
EXPORT int hipGetLastError(void) {
    int const error = last_error;
    last_error = success;
    return error;
}
EXPORT int hipMemcpy(void* to, void const* from, size_t bytes, int kind) {
    (void)kind;
    return fails(copy((uintptr_t)to, 0, (uintptr_t)from, 0, bytes, 1));
}
EXPORT int hipMemcpy2D(void* to, size_t to_pitch, void const* from, size_t from_pitch, size_t width,
                       size_t height, int kind) {
    (void)kind;
    return fails(copy((uintptr_t)to, to_pitch, (uintptr_t)from, from_pitch, width, height));
}
EXPORT int hipStreamSynchronize(void* stream) {
    (void)stream;
    return success;
}

#else

static int context;           // its address stands for it
static __thread int current;  // how often it has been pushed
static __thread int retained;
static size_t pins, pinned;

// For tests.
EXPORT size_t stand_in_pins(void) { return pins; }      // so far
EXPORT size_t stand_in_pinned(void) { return pinned; }  // now

EXPORT int cuInit(unsigned flags) {
    (void)flags;
    return success;
}
EXPORT int cuDevicePrimaryCtxRetain(void** result, int device) {
    (void)device;
    ++retained;
    *result = &context;
    return success;
}
EXPORT int cuDevicePrimaryCtxRelease(int device) {
    (void)device;
    return --retained < 0 ? invalid_value : success;
}
EXPORT int cuCtxPushCurrent_v2(void* pushed) {
    if (pushed != &context) return invalid_context;
    ++current;
    return success;
}
EXPORT int cuCtxPopCurrent_v2(void** popped) {
    if (current == 0) return invalid_context;
    --current;
    *popped = &context;
    return success;
}
EXPORT int cuMemAlloc_v2(unsigned long long* memory, size_t bytes) {
    *memory = (uintptr_t)allocate(bytes);
    return *memory == 0 ? invalid_value : success;
}
EXPORT int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
    (void)memory, (void)bytes, (void)flags;
    if (current == 0) return invalid_context;
    ++pins;
    ++pinned;
    return success;
}
EXPORT int cuMemHostUnregister(void* memory) {
    (void)memory;
    if (current == 0 || pinned == 0) return invalid_context;
    --pinned;
    return success;
}
EXPORT int cuMemFree_v2(unsigned long long memory) {
    if (memory != 0) let_go();
    return success;
}
EXPORT int cuPointerGetAttribute(void* value, int which, unsigned long long address) {
    if (!is_ours(address)) return invalid_value;
    if (which == of_context) *(void**)value = in_mode("pool") ? NULL : &context;
    if (which == of_memory_type) *(unsigned*)value = 2;
    if (which == of_managed) *(unsigned*)value = (unsigned)in_mode("managed");
    if (which == of_device) *(int*)value = 0;
    return success;
}
static int copy_in_context(uintptr_t to, size_t to_pitch, uintptr_t from, size_t from_pitch,
                           size_t width, size_t height) {
    return current > 0 ? copy(to, to_pitch, from, from_pitch, width, height) : invalid_context;
}
EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
    return copy_in_context((uintptr_t)to, 0, from, 0, bytes, 1);
}
EXPORT int cuMemcpyHtoD_v2(unsigned long long to, void const* from, size_t bytes) {
    return copy_in_context(to, 0, (uintptr_t)from, 0, bytes, 1);
}

// CUDA_MEMCPY2D of cuda.h.
struct side {
    size_t x_bytes, y;
    unsigned type;  // 1: host
    void* host;
    unsigned long long device;
    void* array;
    size_t pitch;
};
struct rows {
    struct side from, to;
    size_t width, height;
};
static uintptr_t address_of(struct side const* side) {
    return side->type == 1 ? (uintptr_t)side->host : side->device;
}
EXPORT int cuMemcpy2DUnaligned_v2(struct rows const* rows) {
    return copy_in_context(address_of(&rows->to), rows->to.pitch, address_of(&rows->from),
                           rows->from.pitch, rows->width, rows->height);
}
EXPORT int cuStreamSynchronize(void* stream) {
    (void)stream;
    return current > 0 ? success : invalid_context;
}

#endif
