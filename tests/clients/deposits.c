/* Writes records by calls that repeat: record n is of program n mod PROGRAMS, its ranks take turns,
   and each byte of it is 1 + n mod 251.

   usage: deposits FILE RECORD_BYTES CALLS PROGRAMS INDEX [CALL STEP]...
   Before call number CALL a step: `sync`; `kill` rank 1; `fill` /dev/shm.
   UNISONO_TEST_WRITE_ONLY: the file is opened for writing only. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fill(char const* path) {
    static char const page[4096];
    int const file = open(path, O_CREAT | O_WRONLY, 0600);
    while (write(file, page, sizeof page) > 0) {
    }
    close(file);
}

static void do_step(char const* step, MPI_File file, int rank) {
    if (strcmp(step, "sync") == 0) MPI_File_sync(file);
    if (strcmp(step, "kill") == 0 && rank == 1) raise(SIGKILL);
    if (strcmp(step, "fill") == 0 && rank == 0) fill("/dev/shm/full");
    if (strcmp(step, "fill") == 0) MPI_Barrier(MPI_COMM_WORLD);
}

static int access_mode(void) {
    char const* const only = getenv("UNISONO_TEST_WRITE_ONLY");
    return MPI_MODE_CREATE | (only != NULL && *only != 0 ? MPI_MODE_WRONLY : MPI_MODE_RDWR);
}

int main(int argc, char** argv) {
    int rank = 0, ranks = 1;
    MPI_File file;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    if (argc < 6) MPI_Abort(MPI_COMM_WORLD, 2);
    int const record_bytes = atoi(argv[2]), calls = atoi(argv[3]), programs = atoi(argv[4]);
    char* const record = malloc((size_t)record_bytes);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, argv[1], access_mode(), MPI_INFO_NULL, &file);
    for (int call = 0; call < calls; ++call) {
        for (int word = 6; word + 1 < argc; word += 2)
            if (atoi(argv[word]) == call) do_step(argv[word + 1], file, rank);
        long long const number = ((long long)call * ranks + rank) * programs + atoi(argv[5]);
        int count = 0;
        memset(record, (int)(1 + number % 251), (size_t)record_bytes);
        MPI_File_write_at_all(file, number * record_bytes, record, record_bytes, MPI_BYTE, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (count != record_bytes) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_File_close(&file);
    free(record);
    MPI_Finalize();
    if (rank == 0) printf("went on\n");
    return 0;
}
