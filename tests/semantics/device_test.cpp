// Data in memory that the CPU cannot access: a GPU's, or a stand-in's (stand_in_gpu.c). The driver
// is loaded from where UNISONO_TEST_GPU says.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "files.hpp"

namespace semantics {
namespace {

/// What a program with device memory calls.
struct Gpu {
    std::function<void*(std::size_t bytes)> allocate;
    std::function<void(void*)> release;
    std::function<bool(void* to, void const* from, std::size_t bytes)> to_device;
    std::function<bool(void* to, void const* from, std::size_t bytes)> to_host;
    std::function<int()> last_error = [] { return 0; };
    std::size_t (*copies)() = nullptr;          ///< a stand-in's
    std::size_t (*copy_bytes_max)() = nullptr;  ///< a stand-in's
    std::size_t (*pins)() = nullptr;            ///< a stand-in's
    std::size_t (*pinned)() = nullptr;          ///< a stand-in's
};

template <class Function>
Function* function(void* library, char const* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

// Only during its own copies this thread has a current context.
Gpu cuda(void* library) {
    using Address = unsigned long long;
    function<int(unsigned)>(library, "cuInit")(0);
    void* context = nullptr;
    function<int(void**, int)>(library, "cuDevicePrimaryCtxRetain")(&context, 0);
    auto const in_context = [library, context](auto const& act) {
        void* popped = nullptr;
        function<int(void*)>(library, "cuCtxPushCurrent_v2")(context);
        int const error = act();
        function<int(void**)>(library, "cuCtxPopCurrent_v2")(&popped);
        return error == 0;
    };
    auto const address = [](void const* memory) { return reinterpret_cast<Address>(memory); };
    Gpu gpu;
    gpu.allocate = [=](std::size_t bytes) {
        Address memory = 0;
        in_context([&] {
            return function<int(Address*, std::size_t)>(library, "cuMemAlloc_v2")(&memory, bytes);
        });
        return reinterpret_cast<void*>(memory);
    };
    gpu.release = [=](void* memory) {
        in_context(
            [&] { return function<int(Address)>(library, "cuMemFree_v2")(address(memory)); });
    };
    gpu.to_device = [=](void* to, void const* from, std::size_t bytes) {
        return in_context([&] {
            return function<int(Address, void const*, std::size_t)>(library, "cuMemcpyHtoD_v2")(
                address(to), from, bytes);
        });
    };
    gpu.to_host = [=](void* to, void const* from, std::size_t bytes) {
        return in_context([&] {
            return function<int(void*, Address, std::size_t)>(library, "cuMemcpyDtoH_v2")(
                to, address(from), bytes);
        });
    };
    return gpu;
}

Gpu hip(void* library) {
    auto const copy = function<int(void*, void const*, std::size_t, int)>(library, "hipMemcpy");
    Gpu gpu;
    gpu.allocate = [=](std::size_t bytes) {
        void* memory = nullptr;
        function<int(void**, std::size_t)>(library, "hipMalloc")(&memory, bytes);
        return memory;
    };
    gpu.release = function<int(void*)>(library, "hipFree");
    gpu.to_device = [=](void* to, void const* from, std::size_t bytes) {
        return copy(to, from, bytes, 1) == 0;
    };
    gpu.to_host = [=](void* to, void const* from, std::size_t bytes) {
        return copy(to, from, bytes, 2) == 0;
    };
    gpu.last_error = function<int()>(library, "hipPeekAtLastError");
    return gpu;
}

// Loaded when a test wants it, not before.
Gpu const& gpu() {
    static Gpu const loaded = [] {
        char const* path = getenv("UNISONO_TEST_GPU");
        void* const library = dlopen(path == nullptr ? "libcuda.so.1" : path, RTLD_NOW);
        if (library == nullptr) return Gpu{};
        auto made = dlsym(library, "cuInit") != nullptr ? cuda(library) : hip(library);
        made.copies = function<std::size_t()>(library, "stand_in_copies");
        made.copy_bytes_max = function<std::size_t()>(library, "stand_in_copy_bytes_max");
        made.pins = function<std::size_t()>(library, "stand_in_pins");
        made.pinned = function<std::size_t()>(library, "stand_in_pinned");
        return made;
    }();
    return loaded;
}

std::size_t copies() { return gpu().copies == nullptr ? 0 : gpu().copies(); }

bool in_mode(std::string const& name) {
    char const* mode = getenv("UNISONO_TEST_GPU_MODE");
    return mode != nullptr && mode == name;
}

/// Memory for a data call: the device's, or ordinary, with a content.
class Memory {
public:
    Memory(bool on_device, Bytes content) : host_(std::move(content)) {
        if (!on_device) return;
        device_ = gpu().allocate(host_.size());
        CHECK(device_ != nullptr);
        // Managed memory, as that of a driver that copies nothing, is the CPU's as well.
        if (!gpu().to_device(device_, host_.data(), host_.size()))
            std::copy(host_.begin(), host_.end(), static_cast<std::uint8_t*>(device_));
    }
    ~Memory() {
        if (device_ != nullptr) gpu().release(device_);
    }
    Memory(Memory const&) = delete;
    Memory& operator=(Memory const&) = delete;

    [[nodiscard]] void* data() { return device_ != nullptr ? device_ : host_.data(); }
    [[nodiscard]] Bytes content() const {
        if (device_ == nullptr) return host_;
        Bytes copy(host_.size());
        if (!gpu().to_host(copy.data(), device_, copy.size())) {
            auto const* const bytes = static_cast<std::uint8_t const*>(device_);
            copy.assign(bytes, bytes + copy.size());
        }
        return copy;
    }

private:
    Bytes host_;
    void* device_ = nullptr;
};

bool no_gpu(Context const&) {
    if (gpu().allocate) return false;
    skip("no driver of a GPU");
    return true;
}

// Whose memory is the device's: everybody's, every other rank's, the last rank's.
bool everybody(Context const&) { return true; }
bool every_other(Context const& context) { return context.rank % 2 == 1; }
bool the_last(Context const& context) { return context.rank == context.size - 1; }
constexpr bool (*owners[])(Context const&) = {everybody, every_other, the_last};

// The program has done I/O before it loads the driver; in the worst case in this very file.
TEST(a_driver_is_found_when_it_is_loaded_late) {
    DealtView const view(context, 100);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 10000);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 5000, MPI_BYTE, MPI_STATUS_IGNORE));
    if (no_gpu(context)) return close_file(file);
    Memory rest(true, Bytes(data.begin() + 5000, data.end()));
    CHECK_MPI(MPI_File_write_all(file, rest.data(), 5000, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    check_file(context, context.path(), 10000u * static_cast<unsigned>(context.size));
}

// Short calls that repeat look for a driver only when the system refuses their memory. Each of
// these is alone in its process, which loads the driver once.
template <class Call>
void a_driver_is_found_between_short(Context const& context, Call const& call, bool writes) {
    constexpr int bytes = 500, calls = 40;
    auto const path = context.path();
    auto const all_bytes = std::size_t{bytes} * calls * static_cast<std::size_t>(context.size);
    if (!writes) prepare_file(context, path, all_bytes);
    MPI_File file = open_file(context, path);
    for (int i = 0; i < calls; ++i) {
        auto const on_device = i >= calls / 2;
        if (on_device && no_gpu(context)) return close_file(file);
        auto const at = MPI_Offset{bytes} * (i * context.size + context.rank);
        auto const content = pattern_bytes(at, bytes);
        Memory memory(on_device, writes ? content : Bytes(bytes));
        MPI_Status status;
        CHECK_MPI(call(file, at, memory.data(), bytes, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), bytes);
        check_bytes(memory.content(), content, "the data of a call");
    }
    close_file(file);
    check_file(context, path, all_bytes);
}
TEST(a_driver_is_found_between_short_writes) {
    a_driver_is_found_between_short(context, MPI_File_write_at, true);
}
TEST(a_driver_is_found_between_short_collective_writes) {
    a_driver_is_found_between_short(context, MPI_File_write_at_all, true);
}
TEST(a_driver_is_found_between_short_reads) {
    a_driver_is_found_between_short(context, MPI_File_read_at, false);
}
TEST(a_driver_is_found_between_short_collective_reads) {
    a_driver_is_found_between_short(context, MPI_File_read_at_all, false);
}

TEST(collective_calls_move_it) {
    if (no_gpu(context)) return;
    for (auto const on_device : owners) {
        constexpr int bytes = 300000;
        DealtView const view(context, 1000);
        MPI_File file = open_file(context, view);
        Bytes const data = view.data(0, bytes);
        Memory from(on_device(context), data);
        MPI_Status status;
        CHECK_MPI(MPI_File_write_all(file, from.data(), bytes, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), bytes);
        CHECK_EQUAL(position_of(file), bytes);
        sync_on_all(context, file);
        Memory back(on_device(context), Bytes(bytes));
        CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), bytes, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), bytes);
        check_bytes(back.content(), data, "what was read");
        close_file(file);
        check_file(context, context.path(), static_cast<std::size_t>(bytes) * context.size);
    }
}

TEST(split_calls_move_it) {
    if (no_gpu(context)) return;
    DealtView const view(context, 1000);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 50000);
    Memory from(every_other(context), data), back(every_other(context), Bytes(50000));
    MPI_Status status;
    CHECK_MPI(MPI_File_write_at_all_begin(file, 0, from.data(), 50000, MPI_BYTE));
    CHECK_MPI(MPI_File_write_at_all_end(file, from.data(), &status));
    CHECK_EQUAL(count_of(status), 50000);
    CHECK_MPI(MPI_File_read_all_begin(file, back.data(), 50000, MPI_BYTE));
    CHECK_MPI(MPI_File_read_all_end(file, back.data(), &status));
    CHECK_EQUAL(count_of(status), 50000);
    check_bytes(back.content(), data, "what was read");
    close_file(file);
}

// Equal blocks at equal distances; irregular blocks; tiles that overlap their neighbours' bounds.
std::vector<Type> memory_types() {
    std::vector<Type> types;
    types.push_back(make_vector(1000, 16, 40, MPI_BYTE));
    int const lengths[] = {3, 100, 1, 17}, places[] = {200, 5, 0, 150};
    MPI_Datatype irregular = MPI_DATATYPE_NULL;
    MPI_Type_indexed(4, lengths, places, MPI_BYTE, &irregular);
    types.push_back(Type(irregular));
    types.push_back(make_resized(0, 50, make_vector(3, 2, 60, MPI_BYTE)));
    return types;
}

// Through a packed ordinary buffer first, to know what belongs where.
TEST(derived_types_of_memory_are_obeyed) {
    if (no_gpu(context)) return;
    auto const types = memory_types();
    for (auto const& type : types) {
        constexpr int count = 5;
        auto const path = context.path(std::to_string(&type - types.data()));
        int type_bytes = 0;
        MPI_Type_size(type, &type_bytes);
        auto const bytes = count * type_bytes;
        DealtView const view(context, type_bytes);
        Bytes const data = view.data(0, static_cast<std::size_t>(bytes));
        Bytes laid_out(300000, 0xEE);
        int position = 0;
        MPI_Unpack(data.data(), bytes, &position, laid_out.data(), count, type, context.comm);

        MPI_File file = open_file(context, path);
        CHECK_MPI(view.set(file));
        Memory from(true, laid_out), back(true, Bytes(laid_out.size(), 0xEE));
        MPI_Status status;
        CHECK_MPI(MPI_File_write_all(file, from.data(), count, type, &status));
        CHECK_EQUAL(count_of(status), bytes);
        CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), count, type, &status));
        CHECK_EQUAL(count_of(status), bytes);
        check_bytes(back.content(), laid_out, "what was read");
        close_file(file);
        check_file(context, path, static_cast<std::size_t>(bytes) * context.size);
    }
}

TEST(a_regular_type_takes_few_calls_of_the_driver) {
    if (no_gpu(context) || gpu().copies == nullptr) return;
    Type const type = make_vector(10000, 16, 40, MPI_BYTE);
    MPI_File file = open_file(context, context.path());
    Memory from(true, Bytes(400000));
    auto const before = copies();
    CHECK_MPI(MPI_File_write_at(file, 0, from.data(), 1, type, MPI_STATUS_IGNORE));
    CHECK(copies() > before);
    CHECK(copies() - before < 20);
    close_file(file);
}

TEST(never_all_of_it_is_in_host_memory) {
    if (no_gpu(context) || gpu().copies == nullptr) return;
    constexpr int bytes = 10 << 20;
    MPI_File file = open_file(context, context.path());
    Memory from(true, Bytes(1));
    void* const large = gpu().allocate(bytes);
    CHECK_MPI(MPI_File_write_at_all(file, static_cast<MPI_Offset>(context.rank) * bytes, large,
                                    bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_at(file, 0, large, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(gpu().copy_bytes_max() <= 4 << 20);
    gpu().release(large);
    close_file(file);
}

// Drivers copy them much faster from there.
TEST(host_memory_is_pinned_for_narrow_pieces_while_a_call_lasts) {
    if (no_gpu(context) || gpu().pins == nullptr) return;
    MPI_File file = open_file(context, context.path());
    void* const from = gpu().allocate(10 << 20);
    Type const narrow = make_vector(1000, 24, 40, MPI_BYTE);
    auto const pins_of = [&](int count, MPI_Datatype type) {
        auto const before = gpu().pins();
        CHECK_MPI(MPI_File_write_at(file, 0, from, count, type, MPI_STATUS_IGNORE));
        CHECK_EQUAL(gpu().pinned(), 0U);
        return gpu().pins() - before;
    };
    CHECK_EQUAL(pins_of(1, narrow), 1U);
    CHECK_EQUAL(pins_of(10 << 20, MPI_BYTE), 0U);
    gpu().release(from);
    close_file(file);
}

TEST(independent_calls_move_it) {
    if (no_gpu(context)) return;
    DealtView const view(context, 1000);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 60000);
    Memory first(true, Bytes(data.begin(), data.begin() + 30000));
    Memory second(true, Bytes(data.begin() + 30000, data.end()));
    MPI_Status status;
    CHECK_MPI(MPI_File_write(file, first.data(), 30000, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 30000);
    CHECK_EQUAL(position_of(file), 30000);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite_at(file, 30000, second.data(), 30000, MPI_BYTE, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_EQUAL(count_of(status), 30000);
    Memory back(true, Bytes(60000));
    CHECK_MPI(MPI_File_read_at(file, 0, back.data(), 60000, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 60000);
    check_bytes(back.content(), data, "what was read");
    Memory again(true, Bytes(60000));
    CHECK_MPI(MPI_File_iread_at(file, 0, again.data(), 60000, MPI_BYTE, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
    check_bytes(again.content(), data, "what was read without blocking");
    close_file(file);
    check_file(context, context.path(), 60000u * static_cast<unsigned>(context.size));
}

// A nonblocking call with it is done by whichever thread of the rank comes by. While one did, a
// sync by another one found nothing to wait for.
TEST(a_sync_waits_for_what_another_thread_moves, under_unisono, faults_are_ours) {
    if (no_gpu(context)) return;
    if (context.thread_level < MPI_THREAD_MULTIPLE) return skip("no MPI_THREAD_MULTIPLE");
    MPI_File file = open_with(context, {{"unisono_faults", "write=delay:200000"}});
    int nothing = 0;
    MPI_Request never = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(&nothing, 1, MPI_INT, context.rank, 0, context.comm, &never));
    std::atomic<bool> over = false;
    std::thread other([&] {
        for (int done = 0; !over; std::this_thread::yield())
            MPI_Test(&never, &done, MPI_STATUS_IGNORE);
    });
    constexpr int bytes = 1000;
    auto const first = MPI_Offset{bytes} * context.rank;
    auto const data = pattern_bytes(first, bytes);
    Memory memory(true, data);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_File_iwrite_at_all(file, first, memory.data(), bytes, MPI_BYTE, &request));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK_MPI(MPI_Request_free(&request));
    CHECK_MPI(MPI_File_sync(file));
    auto const synced = read_whole(context.path());
    check_bytes(synced, pattern_bytes(0, std::size_t{bytes} * static_cast<unsigned>(context.size)),
                "what was written before a sync");
    over = true;
    other.join();
    CHECK_MPI(MPI_Cancel(&never));
    CHECK_MPI(MPI_Wait(&never, MPI_STATUS_IGNORE));
    close_file(file);
}

TEST(ranks_that_ask_for_nothing_take_part) {
    if (no_gpu(context)) return;
    for (auto const asks : owners) {
        DealtView const view(context, 100);
        MPI_File file = open_file(context, view);
        int const bytes = asks(context) ? 20000 : 0;
        Bytes const data = view.data(0, 20000);
        Memory from(true, data), back(true, Bytes(20000));
        MPI_Status status;
        CHECK_MPI(MPI_File_write_at_all(file, 0, from.data(), bytes, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), bytes);
        CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), bytes, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), bytes);
        check_bytes(back.content(), bytes == 0 ? Bytes(20000) : data, "what was read");
        close_file(file);
    }
}

// One after the other in the file, which ends within the second rank's part: the first reads all.
TEST(a_read_past_the_end_is_short_where_the_file_ends) {
    if (no_gpu(context)) return;
    constexpr int part = 200000, file_bytes = 250000;
    prepare_file(context, context.path(), file_bytes);
    for (auto const on_device : owners) {
        for (bool const collective : {true, false}) {
            MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
            auto const offset = static_cast<MPI_Offset>(context.rank) * part;
            auto const there =
                static_cast<std::size_t>(std::clamp<MPI_Offset>(file_bytes - offset, 0, part));
            Memory back(on_device(context), Bytes(part, 0));
            MPI_Status status;
            auto* const read = collective ? MPI_File_read_at_all : MPI_File_read_at;
            CHECK_MPI(read(file, offset, back.data(), part, MPI_BYTE, &status));
            CHECK_EQUAL(count_of(status), static_cast<long long>(there));
            Bytes wanted = pattern_bytes(offset, there);
            wanted.resize(part, 0);
            check_bytes(back.content(), wanted, "what was read");
            close_file(file);
        }
    }
}

TEST(an_error_is_the_same_on_all_ranks) {
    if (no_gpu(context)) return;
    MPI_File file = open_with(context, {{"unisono_faults", "write@150000=ENOSPC"}});
    Memory from(every_other(context), Bytes(100000));
    auto const offset = static_cast<MPI_Offset>(context.rank) * 100000;
    MPI_Status status;
    int const code = MPI_File_write_at_all(file, offset, from.data(), 100000, MPI_BYTE, &status);
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
    CHECK(context.rank != 1 || count_of(status) <= 50000);
    close_file(file);
}

TEST(a_program_finds_no_error_of_the_driver) {
    if (no_gpu(context)) return;
    MPI_File file = open_file(context, context.path());
    Bytes const data(1000);
    CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQUAL(gpu().last_error(), 0);
    close_file(file);
}

// In mode "managed" the driver is asked for nothing, in mode "no_copies" the MPI library does the
// calls: it can here.
TEST(memory_that_the_cpu_has_as_well_is_not_copied) {
    if (no_gpu(context)) return;
    if (!in_mode("managed") && !in_mode("no_copies"))
        return skip("UNISONO_TEST_GPU_MODE is not managed or no_copies");
    MPI_File file = open_file(context, context.path());
    auto const offset = static_cast<MPI_Offset>(context.rank) * 20000;
    Memory from(true, pattern_bytes(offset, 20000)), back(true, Bytes(20000));
    auto const before = copies();
    CHECK_MPI(MPI_File_write_at_all(file, offset, from.data(), 10000, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_write_at(file, offset + 10000,
                                static_cast<std::uint8_t*>(from.data()) + 10000, 10000, MPI_BYTE,
                                MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_at_all(file, offset, back.data(), 20000, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQUAL(static_cast<long long>(copies()), static_cast<long long>(before));
    check_bytes(back.content(), pattern_bytes(offset, 20000), "what was read");
    close_file(file);
}

}  // namespace

}  // namespace semantics
