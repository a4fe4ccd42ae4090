// Ranks interleave their blocks in a file on a pocket file system; then its power is cut. What
// MPI_File_sync promised must be there, or MPI_File_close where it was asked to, and what came
// after the sync must not: or the cut cuts nothing. usage: power_cut MOUNTPOINT
#include <fcntl.h>
#include <mpi.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int block_bytes = 1000;
constexpr int blocks_per_rank = 200;

int rank = 0;
int ranks = 1;

void require(bool condition, char const* what) {
    if (condition) return;
    std::fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

MPI_File open_interleaved(std::string const& path, char const* sync_at_close) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "unisono_flush", "close");  // no block of view_based comes after a cut
    MPI_Info_set(info, "unisono_sync_at_close", sync_at_close);
    MPI_File file = MPI_FILE_NULL;
    require(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info,
                          &file) == MPI_SUCCESS,
            "MPI_File_open");
    MPI_Info_free(&info);
    MPI_Datatype mine = MPI_DATATYPE_NULL;
    MPI_Type_vector(blocks_per_rank, block_bytes, ranks * block_bytes, MPI_BYTE, &mine);
    MPI_Type_commit(&mine);
    require(MPI_File_set_view(file, MPI_Offset{rank} * block_bytes, MPI_BYTE, mine, "native",
                              MPI_INFO_NULL) == MPI_SUCCESS,
            "MPI_File_set_view");
    MPI_Type_free(&mine);
    return file;
}

void write_all(MPI_File file, char letter) {
    std::vector<char> const bytes(blocks_per_rank * block_bytes, letter);
    require(MPI_File_write_at_all(file, 0, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                                  MPI_STATUS_IGNORE) == MPI_SUCCESS,
            "MPI_File_write_at_all");
}

// When all ranks have come here.
void cut_power(std::string const& mountpoint) {
    MPI_Barrier(MPI_COMM_WORLD);
    constexpr char const* attribute = "user.pocketfs.control";
    if (rank == 0)
        require(setxattr(mountpoint.c_str(), attribute, "power_cut", 9, 0) == 0, "power cut");
    MPI_Barrier(MPI_COMM_WORLD);
}

// As one who knows nothing of MPI finds it.
void require_contents(std::string const& path, char letter, char const* what) {
    auto const bytes = static_cast<std::size_t>(ranks) * blocks_per_rank * block_bytes;
    std::vector<char> found(bytes + 1);
    int const fd = open(path.c_str(), O_RDONLY);
    auto const length = pread(fd, found.data(), found.size(), 0);
    close(fd);
    found.pop_back();
    require(length == static_cast<ssize_t>(bytes) &&
                std::all_of(found.begin(), found.end(), [&](char one) { return one == letter; }),
            what);
}

void close_file(MPI_File file) { require(MPI_File_close(&file) == MPI_SUCCESS, "MPI_File_close"); }

void sync_then_cut(std::string const& mountpoint, std::string const& path) {
    auto const file = open_interleaved(path, "false");
    write_all(file, 's');
    require(MPI_File_sync(file) == MPI_SUCCESS, "MPI_File_sync");
    cut_power(mountpoint);
    require_contents(path, 's', "what was synced is gone");
    write_all(file, 'u');
    cut_power(mountpoint);
    require_contents(path, 's', "what was not synced is there: nothing was cut");
    close_file(file);
}

void close_then_cut(std::string const& mountpoint, std::string const& path) {
    auto const file = open_interleaved(path, "true");
    write_all(file, 'c');
    close_file(file);
    cut_power(mountpoint);
    require_contents(path, 'c', "what was closed is gone");
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::string const mountpoint = argc > 1 ? argv[1] : "";
    auto const path = mountpoint + "/file";
    sync_then_cut(mountpoint, path);
    close_then_cut(mountpoint, path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path.c_str());
    MPI_Finalize();
    return 0;
}
