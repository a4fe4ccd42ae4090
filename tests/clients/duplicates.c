/* Opens a file on each of five duplicates of MPI_COMM_WORLD, as HDF5 does: duplicates FILE */
#include "client_support.h"

int main(int count, char** words) {
    MPI_Init(&count, &words);
    for (int i = 0; i < 5; ++i) {
        MPI_Comm comm;
        MPI_File file;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        CLIENT_REQUIRE(MPI_File_open(comm, words[1], MPI_MODE_CREATE | MPI_MODE_WRONLY,
                                     MPI_INFO_NULL, &file) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
        CLIENT_REQUIRE(MPI_File_write_at_all(file, i, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE) ==
                       MPI_SUCCESS);
        MPI_File_close(&file);
    }
    MPI_Finalize();
    return 0;
}
