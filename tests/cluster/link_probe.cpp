// link_probe SECONDS [FILE]: what a pocket cluster's links give. Prints one line of JSON: the
// nodes, a barrier of all ranks, the bandwidth from the first node to the second; with a file also
// that of writing it from the first node, alone and beside the messages. Blocks of ranks, two at
// least on a node.

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int message_bytes = 1 << 20;

struct Job {
    int rank = 0;
    int ranks = 0;
    int nodes = 0;
    int per_node = 0;
    double seconds = 0;
};

Job look_around(double seconds) {
    Job job{.seconds = seconds};
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int index = 0;
    MPI_Comm_rank(node, &index);
    MPI_Comm_size(node, &job.per_node);
    int const first = index == 0 ? 1 : 0;
    MPI_Allreduce(&first, &job.nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&job.per_node, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_free(&node);
    return job;
}

double barrier_us(Job const& job) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const begin = MPI_Wtime();
    int count = 0;
    for (int go_on = 1; go_on != 0; ++count) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (count % 16 == 15) {
            go_on = MPI_Wtime() - begin < job.seconds ? 1 : 0;
            MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - begin) / count * 1e6;
}

// From rank 0 to the first rank of the second node; MB/s on rank 0.
double send_messages(Job const& job) {
    std::vector<char> buffer(message_bytes);
    if (job.rank == job.per_node) {
        int bytes = 1;
        while (bytes > 0) {
            MPI_Status status;
            MPI_Recv(buffer.data(), message_bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &bytes);
        }
    }
    if (job.rank != 0) return 0;
    double const begin = MPI_Wtime();
    double bytes = 0;
    for (; MPI_Wtime() - begin < job.seconds; bytes += message_bytes)
        MPI_Send(buffer.data(), message_bytes, MPI_BYTE, job.per_node, 0, MPI_COMM_WORLD);
    MPI_Send(buffer.data(), 0, MPI_BYTE, job.per_node, 0, MPI_COMM_WORLD);
    return bytes / (MPI_Wtime() - begin) / 1e6;
}

// By rank 1, which is on the first node, too; MB/s there.
double write_file(Job const& job, char const* path) {
    if (job.rank != 1) return 0;
    std::vector<char> buffer(message_bytes);
    int const file = open(path, O_RDWR | O_CREAT, 0644);
    if (file < 0) MPI_Abort(MPI_COMM_WORLD, 2);
    constexpr int file_messages = 64;
    double const begin = MPI_Wtime();
    double bytes = 0;
    for (int i = 0; MPI_Wtime() - begin < job.seconds; i = (i + 1) % file_messages) {
        auto const written = pwrite(file, buffer.data(), buffer.size(), off_t{i} * message_bytes);
        if (written < 0) MPI_Abort(MPI_COMM_WORLD, 2);
        bytes += static_cast<double>(written);
    }
    close(file);
    return bytes / (MPI_Wtime() - begin) / 1e6;
}

// What one rank measured, on rank 0.
double of_rank(int rank, double value) {
    MPI_Bcast(&value, 1, MPI_DOUBLE, rank, MPI_COMM_WORLD);
    return value;
}

}  // namespace

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    if (argument_count < 2) MPI_Abort(MPI_COMM_WORLD, 2);
    auto const job = look_around(std::atof(arguments[1]));
    double const barrier = barrier_us(job);
    double const messages = job.nodes > 1 ? send_messages(job) : 0;
    if (job.rank == 0)
        std::printf("{\"ranks\": %d, \"nodes\": %d, \"barrier_us\": %.0f, \"messages_mb_s\": %.1f",
                    job.ranks, job.nodes, barrier, messages);
    if (argument_count > 2) {
        MPI_Barrier(MPI_COMM_WORLD);
        double const file = of_rank(1, write_file(job, arguments[2]));
        double const messages_beside = send_messages(job);
        double const file_beside = of_rank(1, write_file(job, arguments[2]));
        if (job.rank == 0)
            std::printf(
                ", \"file_mb_s\": %.1f, \"both_messages_mb_s\": %.1f, \"both_file_mb_s\": %.1f",
                file, messages_beside, file_beside);
    }
    if (job.rank == 0) std::printf("}\n");
    MPI_Finalize();
    return 0;
}
