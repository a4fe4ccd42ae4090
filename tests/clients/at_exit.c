/* Files used in a function for atexit() that was named before the first was opened. */
#include <stdlib.h>

#include "client_support.h"

static MPI_File file;

static void use_and_close(void) {
    enum { count = 1000 };
    static int data[count], back[count];
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < count; ++i) data[i] = count * rank + i;
    MPI_Datatype dealt;
    MPI_Type_vector(count / 10, 10, 10 * ranks, MPI_INT, &dealt);
    MPI_Type_commit(&dealt);
    CLIENT_CHECK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * 10 * rank, MPI_INT, dealt,
                                   "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&dealt);
    CLIENT_CHECK(MPI_File_write_all(file, data, count, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Request request;
    CLIENT_CHECK(MPI_File_iread_at_all(file, 0, back, count, MPI_INT, &request) == MPI_SUCCESS);
    CLIENT_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CLIENT_CHECK(memcmp(data, back, sizeof data) == 0);
    client_note_strategy(file);
    CLIENT_CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    client_verdict();
    MPI_Finalize();
}

int main(int count, char** words) {
    MPI_Init(&count, &words);
    atexit(use_and_close);
    CLIENT_REQUIRE(MPI_File_open(MPI_COMM_WORLD, words[1],
                                 MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                 MPI_INFO_NULL, &file) == MPI_SUCCESS);
    return 0;
}
