/* Ranks with different thread levels: two files one after the other on one communicator. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { bytes = 1000 };

static void use(char const* path, int rank) {
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, path,
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS)
        abort();
    char data[bytes], back[bytes];
    memset(data, 'a' + rank, bytes);
    MPI_Request request;
    MPI_File_iwrite_at_all(file, (MPI_Offset)bytes * rank, data, bytes, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, (MPI_Offset)bytes * rank, back, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (memcmp(data, back, bytes) != 0) abort();
    MPI_File_close(&file);
}

int main(int count, char** words) {
    (void)count;
    int rank, level;
    char const* const number =
        getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    if (number != NULL && atoi(number) == 0)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    use(words[1], rank);
    use(words[1], rank);
    return MPI_Finalize();
}
