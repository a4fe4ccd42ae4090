/* A rank, the first one of its node, loses its connections to the other nodes between two
   collective calls. Who comes through the second one says so. usage: lost_connection FILE RANK */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { descriptors = 1024, bytes = 1000, patience_s = 10 };

/* The launcher's are another matter. */
static int inherited[descriptors];

static void lose_connections(void) {
    for (int i = 0; i < descriptors; ++i) {
        struct sockaddr address;
        socklen_t length = sizeof address;
        int const connected = getpeername(i, &address, &length) == 0;
        if (!inherited[i] && connected && address.sa_family == AF_INET) shutdown(i, SHUT_RDWR);
    }
}

int main(int argc, char** argv) {
    for (int i = 0; i < descriptors; ++i) inherited[i] = fcntl(i, F_GETFD) >= 0;
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    static char data[bytes];
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_ordered(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    alarm(patience_s); /* MPICH's launcher does not always end those on other nodes */
    if (rank == atoi(argv[2])) lose_connections();
    MPI_File_write_ordered(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    printf("rank %d went on\n", rank);
    fflush(stdout);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
