/* Files on a communicator that the program never frees. It must have other ranks than
   MPI_COMM_WORLD, or have them in another order. */
#include <mpi.h>
#include <stdlib.h>

int main(int count, char** words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm kept;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &kept);
    for (int i = 0; i < 3; ++i) {
        enum { bytes = 50000 };
        static char data[bytes];
        MPI_File file;
        if (MPI_File_open(kept, words[1],
                          MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                          &file) != MPI_SUCCESS)
            abort();
        for (int call = 0; call < 4; ++call)
            MPI_File_write_at_all(file, (MPI_Offset)bytes * rank, data, bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    return MPI_Finalize();
}
