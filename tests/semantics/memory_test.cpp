// Memory stays bounded whatever the request: 256 MiB per rank in each direction, written from and
// read into a few MiB, with collective buffers of 1 MiB.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "files.hpp"

namespace semantics {
namespace {

constexpr long long mib = 1 << 20;
constexpr long long rank_bytes = 256 * mib;
constexpr int user_bytes = 4 << 20;
constexpr int block_bytes = 4096;
constexpr long long growth_limit_bytes = 32 * mib;
constexpr auto sample_every = std::chrono::milliseconds(5);

/// Resident memory of this process without the pages of the file itself, which belong to the page
/// cache even while they are mapped. Bytes.
long long resident_bytes(std::string const& file_name) {
    std::ifstream maps("/proc/self/smaps");
    long long total_kib = 0;
    bool counts = true;
    for (std::string line; std::getline(maps, line);) {
        // A mapping begins with "begin-end", its properties with "Name:".
        auto const colon = line.find(':'), space = line.find(' ');
        bool const is_property = colon != std::string::npos && colon < space;
        if (!is_property)
            counts = line.find(file_name) == std::string::npos;
        else if (counts && line.starts_with("Rss:"))
            total_kib += atoll(line.c_str() + 4);
    }
    return total_kib * 1024;
}

/// Samples resident_bytes in a thread and keeps the largest value.
class Sampler {
public:
    explicit Sampler(std::string file_name)
        : file_name_(std::move(file_name)), peak_(resident_bytes(file_name_)), thread_([this] {
              while (!stop_) {
                  peak_ = std::max<long long>(peak_, resident_bytes(file_name_));
                  std::this_thread::sleep_for(sample_every);
              }
          }) {}
    long long peak_bytes() {
        stop_ = true;
        thread_.join();
        return peak_;
    }

private:
    std::string file_name_;
    std::atomic<bool> stop_{false};
    std::atomic<long long> peak_;
    std::thread thread_;
};

// The same few MiB of memory again and again: legal for writing, and one call of 256 MiB.
void write_in_one_call(MPI_File file, Bytes const& user) {
    MPI_Datatype repeated = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(static_cast<int>(rank_bytes / user_bytes), user_bytes, 0, MPI_BYTE,
                            &repeated);
    Type const type(repeated);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_at_all(file, 0, user.data(), 1, type, &status));
    CHECK_EQUAL(elements_x_of(status, MPI_BYTE), rank_bytes);
}

void read_in_pieces(MPI_File file, Bytes const& expected) {
    Bytes back(user_bytes, 0);
    for (long long at = 0; at < rank_bytes; at += user_bytes) {
        MPI_Status status;
        CHECK_MPI(MPI_File_read_at_all(file, at, back.data(), user_bytes, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), user_bytes);
        if (!CHECK(back == expected)) break;
    }
}

long long growth_bytes(MPI_File file, std::string const& path, Bytes const& user) {
    auto const before = resident_bytes(path);
    Sampler sampler(path);
    write_in_one_call(file, user);
    read_in_pieces(file, user);
    return sampler.peak_bytes() - before - user_bytes;  // read_in_pieces has one buffer of its own
}

TEST(a_large_call_needs_little_memory, under_unisono, "the bound is Unisono's promise") {
    if (!enough_room(context, 2 * rank_bytes * context.size)) return;
    MPI_File file = open_with(context, {{"cb_buffer_size", std::to_string(mib)}});
    DealtView const view(context, block_bytes);
    CHECK_MPI(view.set(file));
    Bytes user(user_bytes);
    for (std::size_t i = 0; i < user.size(); ++i)
        user[i] = pattern(static_cast<MPI_Offset>(i), static_cast<unsigned>(context.rank));
    auto const growth = growth_bytes(file, context.path(), user);
    printf("rank %d: grew by %.1f MiB\n", context.rank, static_cast<double>(growth) / mib);
    CHECK(growth < growth_limit_bytes);
    close_file(file);
}

}  // namespace

}  // namespace semantics
