// More than 2^31 bytes in one call. The memory costs nothing: a few MiB are mapped over and over
// into one long range of addresses.
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "files.hpp"

namespace semantics {
namespace {

constexpr long long period_bytes = 4 << 20;
constexpr long long periods = 513;  // 2^31 bytes and 4 MiB
constexpr long long long_bytes = periods * period_bytes;
static_assert(long_bytes > (1LL << 31));
constexpr int large_block_bytes = 1 << 20;

/// `long_bytes` of address space in which every 4 MiB are the same 4 MiB of memory.
class RepeatedMemory {
public:
    explicit RepeatedMemory(unsigned salt) {
        int const memory = memfd_create("repeated", 0);
        begin_ = reserve();
        bool good = memory >= 0 && ftruncate(memory, period_bytes) == 0 && begin_ != MAP_FAILED;
        for (long long i = 0; good && i < periods; ++i)
            good = mmap(data() + i * period_bytes, period_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED, memory, 0) != MAP_FAILED;
        CHECK(good);
        close(memory);
        if (good) fill(salt);
    }
    RepeatedMemory(RepeatedMemory const&) = delete;
    ~RepeatedMemory() { munmap(begin_, long_bytes); }
    [[nodiscard]] std::uint8_t* data() const { return static_cast<std::uint8_t*>(begin_); }
    void fill(unsigned salt) {
        for (long long i = 0; i < period_bytes; ++i) data()[i] = pattern(i, salt);
    }
    [[nodiscard]] bool holds(unsigned salt) const {
        for (long long i = 0; i < period_bytes; ++i)
            if (data()[i] != pattern(i, salt)) return false;
        return true;
    }

private:
    static void* reserve() {
        return mmap(nullptr, long_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                    0);
    }
    void* begin_ = MAP_FAILED;
};

struct Transfer {
    int code;
    long long bytes;
};

// MPICH counts bytes in a large count; Open MPI 4.1 has no such calls, so there an int counts
// elements of 1 MiB.
Transfer write_long(MPI_File file, std::uint8_t const* memory) {
    MPI_Status status;
#ifdef OPEN_MPI
    Type const element = make_contiguous(large_block_bytes, MPI_BYTE);
    int const count = static_cast<int>(long_bytes / large_block_bytes);
    int const code = MPI_File_write_at_all(file, 0, memory, count, element, &status);
#else
    int const code = MPI_File_write_at_all_c(file, 0, memory, long_bytes, MPI_BYTE, &status);
#endif
    return {code, elements_x_of(status, MPI_BYTE)};
}

Transfer read_long(MPI_File file, std::uint8_t* memory) {
    MPI_Status status;
#ifdef OPEN_MPI
    Type const element = make_contiguous(large_block_bytes, MPI_BYTE);
    int const count = static_cast<int>(long_bytes / large_block_bytes);
    int const code = MPI_File_read_at_all(file, 0, memory, count, element, &status);
#else
    int const code = MPI_File_read_at_all_c(file, 0, memory, long_bytes, MPI_BYTE, &status);
#endif
    return {code, elements_x_of(status, MPI_BYTE)};
}

void check_spots(std::string const& path, DealtView const& view, unsigned salt) {
    std::ifstream stream(path, std::ios::binary);
    for (long long position : {0LL, 4096LL, (1LL << 31) - 8, 1LL << 31, long_bytes - 8}) {
        Bytes spot(8), expected(8);
        stream.seekg(view.offset(position));
        stream.read(reinterpret_cast<char*>(spot.data()), 8);
        for (int i = 0; i < 8; ++i)
            expected[static_cast<std::size_t>(i)] = pattern((position + i) % period_bytes, salt);
        check_bytes(spot, expected, "eight bytes of the file");
    }
}

TEST(more_than_two_to_the_31_bytes, under_unisono,
     "MPICH 4.0 asserts and OMPIO of Open MPI 4.1 truncates beyond 2^31 bytes") {
    if (!enough_room(context, 6LL << 30)) return;
    auto const salt = static_cast<unsigned>(context.rank);
    RepeatedMemory memory(salt);
    DealtView const view(context, large_block_bytes);
    MPI_File file = open_file(context, view);
    auto const written = write_long(file, memory.data());
    CHECK_MPI(written.code);
    CHECK_EQUAL(written.bytes, long_bytes);
    context.barrier();
    CHECK_EQUAL(size_of(file), long_bytes * context.size);
    check_spots(context.path(), view, salt);
    // Every 4 MiB of the view are the same, so the order in which they arrive does not matter.
    memory.fill(salt + 50);
    auto const read = read_long(file, memory.data());
    CHECK_MPI(read.code);
    CHECK_EQUAL(read.bytes, long_bytes);
    CHECK(memory.holds(salt));
    close_file(file);
}

}  // namespace

}  // namespace semantics
