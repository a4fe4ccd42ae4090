// What the tests of reports run: reported MODE FILE [LATE_S]
//
// Every rank writes pieces of 8 bytes, dealt to the ranks in turn, in three collective calls, the
// last rank LATE_S late to each. Then, by MODE:
//
//   close        syncs and closes; prints the mean seconds in data calls and in others, as measured
//                here
//   reversed     the same, with ranks in reverse order on the file's communicator
//   limited, limited-atomic      the same, with files of 4 KiB at most
//   repeated     no such pieces, but 40 calls of 1 KiB a rank
//   nonblocking  writes once more with MPI_File_iwrite_at_all, and closes
//   beside       writes with MPI_File_iwrite_at_all only, and closes
//   alone        writes with MPI_File_write_at only, and closes
//   refused      makes one more call, at a negative offset, and closes
//   hinted       makes the same calls once more with the hint cb_nodes=1, and closes
//   independent  rank 0 writes once more by itself and reads, which fails; all close
//   finalize     ends without closing
//   kill         rank 1 kills itself
//   fatal        rank 0 reads from a file that is open for writing, with MPI_ERRORS_ARE_FATAL
//   wait         waits to be interrupted
//   missing      does nothing of all that, but opens a file that is not there
#include <mpi.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int pieces = 512;
constexpr int calls = 3;

struct Seconds {
    double data = 0;
    double other = 0;
};

template <class Call>
void timed(double& seconds, Call&& call) {
    auto const begin = MPI_Wtime();
    call();
    seconds += MPI_Wtime() - begin;
}

void set_view(MPI_File file, int rank, int ranks) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(pieces, 1, ranks, MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, MPI_Offset{8} * rank, MPI_UINT64_T, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
}

void limit_files() {
    signal(SIGXFSZ, SIG_IGN);
    rlimit const limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
}

void write_records(MPI_File file, int rank, int ranks) {
    constexpr int bytes = 1024;
    std::vector<char> const record(bytes, static_cast<char>(rank));
    for (int call = 0; call < 40; ++call)
        MPI_File_write_at_all(file, MPI_Offset{bytes} * (call * ranks + rank), record.data(), bytes,
                              MPI_BYTE, MPI_STATUS_IGNORE);
}

void write_beside(MPI_File file, MPI_Offset first, std::vector<std::uint64_t> const& data) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_File_iwrite_at_all(file, first, data.data(), pieces, MPI_UINT64_T, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void print_mean(Seconds mine, int rank, int ranks) {
    double sum[2] = {mine.data, mine.other};
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : sum, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("{\"data_s\": %.6f, \"other_s\": %.6f}\n", sum[0] / ranks, sum[1] / ranks);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::string const mode = argv[1];
    auto const late_s = argc > 3 ? std::atof(argv[3]) : 0.0;
    std::vector<std::uint64_t> data(pieces, static_cast<std::uint64_t>(rank));
    MPI_Comm comm = MPI_COMM_WORLD;
    if (mode == "reversed") MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_File file = MPI_FILE_NULL;
    Seconds spent;
    auto const access = mode == "missing" ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_WRONLY;
    timed(spent.other, [&] { MPI_File_open(comm, argv[2], access, MPI_INFO_NULL, &file); });
    if (mode == "missing") return MPI_Finalize();
    timed(spent.other, [&] { set_view(file, rank, ranks); });
    if (mode.starts_with("limited")) limit_files();
    if (mode == "repeated") {
        MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        write_records(file, rank, ranks);
        MPI_File_close(&file);
        return MPI_Finalize();
    }
    if (mode.ends_with("atomic")) MPI_File_set_atomicity(file, 1);
    for (int call = 0; call < calls; ++call) {
        if (rank == ranks - 1) usleep(static_cast<useconds_t>(late_s * 1e6));
        auto const first = MPI_Offset{call} * pieces;
        timed(spent.data, [&] {
            if (mode == "beside")
                write_beside(file, first, data);
            else if (mode == "alone")
                MPI_File_write_at(file, first, data.data(), pieces, MPI_UINT64_T,
                                  MPI_STATUS_IGNORE);
            else
                MPI_File_write_at_all(file, first, data.data(), pieces, MPI_UINT64_T,
                                      MPI_STATUS_IGNORE);
        });
    }
    if (mode == "hinted") {
        MPI_Info hints = MPI_INFO_NULL;
        MPI_Info_create(&hints);
        MPI_Info_set(hints, "cb_nodes", "1");
        MPI_File_set_info(file, hints);
        MPI_Info_free(&hints);
        for (int call = 0; call < calls; ++call)
            MPI_File_write_at_all(file, MPI_Offset{call} * pieces, data.data(), pieces,
                                  MPI_UINT64_T, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    if (mode == "refused") {
        MPI_File_write_at_all(file, -1, data.data(), pieces, MPI_UINT64_T, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    if (mode == "nonblocking") write_beside(file, MPI_Offset{calls} * pieces, data);
    if (mode == "independent" && rank == 0) {
        auto const offset = MPI_Offset{calls} * pieces;
        MPI_File_write_at(file, offset, data.data(), pieces, MPI_UINT64_T, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, 0, data.data(), pieces, MPI_UINT64_T, MPI_STATUS_IGNORE);
    }
    if (mode == "kill") {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) raise(SIGKILL);
        sleep(20);
    }
    if (mode == "wait") {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) std::puts("waiting"), std::fflush(stdout);
        sleep(20);
    }
    if (mode == "fatal") {
        MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
        if (rank == 0)
            MPI_File_read_at(file, 0, data.data(), pieces, MPI_UINT64_T, MPI_STATUS_IGNORE);
        sleep(20);
    }
    if (mode == "close" || mode == "reversed" || mode == "nonblocking" || mode == "beside" ||
        mode == "independent" || mode == "alone" || mode == "atomic" ||
        mode.starts_with("limited")) {
        timed(spent.other, [&] { MPI_File_sync(file); });
        timed(spent.other, [&] { MPI_File_close(&file); });
        print_mean(spent, rank, ranks);
    }
    return MPI_Finalize();
}
