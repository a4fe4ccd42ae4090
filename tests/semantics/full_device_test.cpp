// A full file system: the same error on all ranks, true counts, no SIGBUS on any path.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* false_counts = "native counts are not those of the bytes in the file";

constexpr int device_bytes = 1 << 20;

/// A file system of 1 MiB. It has no place in the directory tree: all ranks reach it through rank
/// 0's descriptor, so that nothing stays behind however the program ends. Needs root.
class TinyDevice {
public:
    explicit TinyDevice(Context const& context) : context_(context) {
        int place[2] = {0, -1};
        if (context.root()) {
            attach();
            place[0] = getpid();
            place[1] = descriptor_;
        }
        MPI_Bcast(place, 2, MPI_INT, 0, context.comm);
        path_ = "/proc/" + std::to_string(place[0]) + "/fd/" + std::to_string(place[1]) + "/data";
        usable_ = place[1] >= 0;
    }
    ~TinyDevice() {
        context_.barrier();
        if (descriptor_ >= 0) close(descriptor_);
    }
    [[nodiscard]] bool usable() const { return usable_; }
    [[nodiscard]] std::string const& path() const { return path_; }

private:
    void attach() {
        auto const point = context_.path("device");
        auto const options = "size=" + std::to_string(device_bytes);
        mkdir(point.c_str(), 0700);
        if (mount("none", point.c_str(), "tmpfs", 0, options.c_str()) != 0) return;
        descriptor_ = open(point.c_str(), O_RDONLY | O_DIRECTORY);
        umount2(point.c_str(), MNT_DETACH);
    }
    Context const& context_;
    int descriptor_ = -1;
    bool usable_ = false;
    std::string path_;
};

// Each rank claims a count; what it claims must really be in the file.
void check_claim(MPI_File file, long long count, Bytes const& data) {
    CHECK(count >= 0 && count <= static_cast<long long>(data.size()));
    Bytes back(data.size(), 0);
    MPI_Status status;
    CHECK_MPI(
        MPI_File_read_at(file, 0, back.data(), static_cast<int>(back.size()), MPI_BYTE, &status));
    CHECK(matching_prefix(back, data) >= static_cast<std::size_t>(std::max(0LL, count)));
}

void fill(Context const& context, int used, int step, int pieces, bool fresh) {
    TinyDevice const device(context);
    if (!device.usable()) return skip("needs root, to mount a small file system");
    Type const tile = make_resized(0, static_cast<MPI_Aint>(step) * context.size,
                                   make_contiguous(used, MPI_BYTE));
    MPI_File file = open_file(context, device.path());
    if (!fresh)
        CHECK_MPI(MPI_File_set_size(file, static_cast<MPI_Offset>(step) * pieces * context.size));
    CHECK_MPI(MPI_File_set_view(file, static_cast<MPI_Offset>(step) * context.rank, MPI_BYTE, tile,
                                "native", MPI_INFO_NULL));
    Bytes const data(static_cast<std::size_t>(used) * pieces, 99);
    MPI_Status status;
    int const code = MPI_File_write_at_all(file, 0, data.data(), static_cast<int>(data.size()),
                                           MPI_BYTE, &status);
    CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
    check_claim(file, count_of(status), data);
    // Room again: the program goes on.
    context.barrier();
    CHECK_MPI(MPI_File_set_size(file, 0));
    int const few = used * std::max(1, device_bytes / 4 / (step * context.size));
    CHECK_MPI(MPI_File_write_at_all(file, 0, data.data(), few, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), few);
    close_file(file);
}

TEST(large_pieces, under_unisono, false_counts) { fill(context, 16384, 16384, 200, true); }
TEST(small_pieces, under_unisono, false_counts) { fill(context, 64, 64, 40000, true); }
TEST(small_pieces_with_holes, under_unisono, false_counts) { fill(context, 32, 128, 20000, true); }
// Overwriting a sparse file: mapped pages find no room, which must not end in SIGBUS.
TEST(small_pieces_in_a_sparse_file, under_unisono, false_counts) {
    fill(context, 32, 128, 20000, false);
}
TEST(large_pieces_in_a_sparse_file, under_unisono, false_counts) {
    fill(context, 16384, 32768, 200, false);
}

constexpr int record_bytes = 8000;

int write_records(Context const& context, MPI_File file, int calls) {
    int failed = 0;
    for (int call = 0; call < calls; ++call) {
        auto const at = (1LL * call * context.size + context.rank) * record_bytes;
        Bytes const data = pattern_bytes(at, record_bytes);
        MPI_Status status;
        auto const code =
            MPI_File_write_at_all(file, at, data.data(), record_bytes, MPI_BYTE, &status);
        if (code == MPI_SUCCESS) CHECK_EQUAL(count_of(status), record_bytes);
        if (code != MPI_SUCCESS) CHECK_EQUAL(error_class(code), MPI_ERR_NO_SPACE);
        failed += code == MPI_SUCCESS ? 0 : 1;
    }
    return failed;
}

void write_records_behind(Context const& context, bool in_blocks) {
    TinyDevice const device(context);
    if (!device.usable()) return skip("needs root, to mount a small file system");
    Info const hints{{"unisono_write_behind", "enable"}, {"cb_buffer_size", "65536"}};
    if (in_blocks) MPI_Info_set(hints, "unisono_strategy", "view_based");
    MPI_File file = open_file(context, device.path(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    auto const failed = write_records(context, file, 2 * device_bytes / record_bytes);
    auto const synced = MPI_File_sync(file);
    CHECK(failed > 0 || synced != MPI_SUCCESS);
    if (synced != MPI_SUCCESS) CHECK_EQUAL(error_class(synced), MPI_ERR_NO_SPACE);
    CHECK_MPI(MPI_File_set_size(file, 0));  // room again
    auto const few = device_bytes / 2 / record_bytes / context.size;
    CHECK_EQUAL(write_records(context, file, few), 0);
    CHECK_MPI(MPI_File_sync(file));
    CHECK_EQUAL(size_of(file), 1LL * record_bytes * few * context.size);
    check_read_at_all(file, 0,
                      pattern_bytes(0, static_cast<std::size_t>(record_bytes) * few * context.size),
                      "with room");
    close_file(file);
}

// A rank whose copy is all there is of a call learns of it when the file is synced.
TEST(records_that_are_written_behind, under_unisono, "only Unisono does that") {
    write_records_behind(context, /*in_blocks=*/true);
}

// It learns of it at once, and the others when the file is synced.
TEST(records_that_each_rank_writes, under_unisono, "only Unisono does that") {
    write_records_behind(context, /*in_blocks=*/false);
}

// What is no file never gets longer: each call finds that out by itself, also where it would have
// been a copy into memory.
TEST(a_device_that_is_always_full, under_unisono, false_counts) {
    Info const hints{{"unisono_write_behind", "enable"}};
    MPI_File file = open_file(context, "/dev/full", MPI_MODE_RDWR, hints);
    constexpr int calls = 12;
    CHECK_EQUAL(write_records(context, file, calls), calls);
    auto const synced = MPI_File_sync(file);
    CHECK(same_on_all(context, error_class(synced)));
    if (synced != MPI_SUCCESS) CHECK_EQUAL(error_class(synced), MPI_ERR_NO_SPACE);
    check_read_at_all(file, 0, Bytes(record_bytes, 0), "/dev/full");
    close_file(file);
}

// MPICH 4.0 says that all was well, Open MPI 4.1 crashes in MPI_Wait: they do it between nodes,
// where threads may not call MPI.
TEST(nonblocking_writes_to_a_device_that_is_always_full, under_unisono, false_counts) {
    if (!on_one_node(context) && context.thread_level < MPI_THREAD_MULTIPLE)
        return skip("the MPI library does some");
    MPI_File file = open_file(context, "/dev/full", MPI_MODE_RDWR);
    Bytes const data(300'000, 1);  // enough for each way
    auto const bytes = static_cast<int>(data.size());
    MPI_Request requests[3];
    CHECK_MPI(MPI_File_iwrite_all(file, data.data(), bytes, MPI_BYTE, &requests[0]));
    CHECK_MPI(MPI_File_iwrite_at_all(file, 0, data.data(), bytes, MPI_BYTE, &requests[1]));
    CHECK_MPI(MPI_File_iwrite_at(file, 0, data.data(), bytes, MPI_BYTE, &requests[2]));
    for (auto& request : requests) {
        MPI_Status status;
        CHECK_EQUAL(error_class(MPI_Wait(&request, &status)), MPI_ERR_NO_SPACE);
        CHECK_EQUAL(count_of(status), 0);
    }
    CHECK_MPI(MPI_File_write_at_all_begin(file, 0, data.data(), bytes, MPI_BYTE));
    MPI_Status status;
    CHECK_EQUAL(error_class(MPI_File_write_at_all_end(file, data.data(), &status)),
                MPI_ERR_NO_SPACE);
    CHECK_EQUAL(count_of(status), 0);
    close_file(file);
}

}  // namespace

}  // namespace semantics
