/* Nonblocking file calls from a callback of MPI_Finalize, as libraries make that close their files
   there; with a second word also a call that comes too late. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_File file;

static int at_finalize(MPI_Comm comm, int key, void* value, void* state) {
    (void)comm, (void)key, (void)value, (void)state;
    enum { bytes = 1000 };
    static char data[bytes], back[bytes];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(data, 'a' + rank, bytes);
    MPI_Request request;
    MPI_File_iwrite_at_all(file, (MPI_Offset)bytes * rank, data, bytes, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, (MPI_Offset)bytes * rank, back, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (memcmp(data, back, bytes) == 0) fprintf(stderr, "rank %d: late, but well\n", rank);
    return MPI_SUCCESS;
}

int main(int count, char** words) {
    int key;
    MPI_Init(&count, &words);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_File_open(MPI_COMM_WORLD, words[1],
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    int const result = MPI_Finalize();
    if (count > 2) MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    return result;
}
