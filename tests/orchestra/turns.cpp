// turns.MPI FOLDER NAME: writes and reads FOLDER/NAME, collectively and by itself, until there is a
// file FOLDER/NAME.stop; then checks every byte of what was written last. Prints how many rounds
// there were, and how long the longest access took.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int block_bytes = 64 << 10;
constexpr int blocks = 8;

unsigned char byte_of(int rank, int block, int round) {
    return static_cast<unsigned char>(rank * 31 + block * 7 + round);
}

void give_up(char const* what) {
    std::fprintf(stderr, "turns: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void check(int result, char const* what) {
    if (result != MPI_SUCCESS) give_up(what);
}

class Ranks {
public:
    explicit Ranks(std::string const& path) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        check(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &file_),
              "open");
    }
    ~Ranks() { MPI_File_close(&file_); }
    Ranks(Ranks const&) = delete;
    Ranks& operator=(Ranks const&) = delete;

    // Blocks of all ranks in turn; the last two of each rank by itself.
    void write(int round) {
        for (int block = 0; block < blocks; ++block) {
            std::fill(data_.begin(), data_.end(), byte_of(rank_, block, round));
            auto* const write = block < blocks - 2 ? MPI_File_write_at_all : MPI_File_write_at;
            check(timed([&] {
                      return write(file_, at(block), data_.data(), block_bytes, MPI_BYTE,
                                   MPI_STATUS_IGNORE);
                  }),
                  "write");
        }
    }
    void read(int round) {
        for (int block = 0; block < blocks; ++block) {
            std::fill(data_.begin(), data_.end(), 0xaa);
            auto* const read = block < blocks - 2 ? MPI_File_read_at_all : MPI_File_read_at;
            check(timed([&] {
                      return read(file_, at(block), data_.data(), block_bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
                  }),
                  "read");
            auto const right = byte_of(rank_, block, round);
            if (std::ranges::any_of(data_, [&](auto byte) { return byte != right; }))
                give_up("a wrong byte");
        }
    }
    [[nodiscard]] bool stopped(std::string const& path) const {
        int stop = rank_ == 0 && access(path.c_str(), F_OK) == 0 ? 1 : 0;
        MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
        return stop != 0;
    }
    [[nodiscard]] int rank() const { return rank_; }
    // Seconds of one access of any rank. Collective.
    [[nodiscard]] double longest() const {
        double all = 0;
        MPI_Allreduce(&longest_, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return all;
    }

private:
    template <class Access>
    int timed(Access const& access) {
        auto const begin = MPI_Wtime();
        int const result = access();
        longest_ = std::max(longest_, MPI_Wtime() - begin);
        return result;
    }
    [[nodiscard]] MPI_Offset at(int block) const {
        return static_cast<MPI_Offset>(block * size_ + rank_) * block_bytes;
    }

    int rank_ = 0;
    int size_ = 1;
    double longest_ = 0;
    MPI_File file_ = MPI_FILE_NULL;
    std::vector<unsigned char> data_ = std::vector<unsigned char>(block_bytes);
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc != 3) give_up("usage: turns FOLDER NAME");
    auto const path = std::string(argv[1]) + '/' + argv[2];
    {
        Ranks ranks(path);
        int round = 0;
        do {
            ranks.write(++round);
            ranks.read(round);
        } while (!ranks.stopped(path + ".stop"));
        auto const longest = ranks.longest();
        if (ranks.rank() == 0) std::printf("%d rounds, longest %.3f s\n", round, longest);
    }
    MPI_Finalize();
}
