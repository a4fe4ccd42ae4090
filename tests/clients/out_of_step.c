/* A program of two or more ranks whose last one is out of step with the others' collective calls.
   usage: out_of_step FILE WHAT [SECONDS]. Rank 0 prints "not_same" or "success" for each rank's
   call, and "went on" where the file could be used afterwards. With WHAT "threads" all are in step,
   and it prints how many threads it has got by opening and writing files, and by closing them. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static MPI_File file, other;
static char data[64];

static int write_at(MPI_File to) {
    return MPI_File_write_at_all(to, 64 * rank, data, 64, MPI_BYTE, MPI_STATUS_IGNORE);
}

/* Nonblocking, where WHAT begins with i. */
static int in_step(char const* what) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (what[0] != 'i') return write_at(file);
    MPI_File_iwrite_at_all(file, 64 * rank, data, 64, MPI_BYTE, &request);
    if (strcmp(what, "iclose") == 0) return MPI_File_close(&file);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int out_of_step(char const* what, unsigned seconds) {
    MPI_Info info = MPI_INFO_NULL;
    if (strcmp(what, "late") == 0) {
        sleep(seconds);
        return write_at(file);
    }
    if (strcmp(what, "threads") == 0) return write_at(file);
    if (strcmp(what, "skip") == 0 || what[0] == 'i') return MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "close") == 0) return MPI_File_close(&file);
    if (strcmp(what, "finalize") == 0) return MPI_Finalize();
    if (strcmp(what, "sync") == 0) return MPI_File_sync(file);
    if (strcmp(what, "hints") == 0) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "cb_nodes", "1");
        return MPI_File_set_info(file, info);
    }
    if (strcmp(what, "read") == 0)
        return MPI_File_read_at_all(file, 0, data, 64, MPI_BYTE, MPI_STATUS_IGNORE);
    if (strcmp(what, "other") == 0) return write_at(other);
    if (strcmp(what, "view") == 0)
        return MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info);
    /* What MPI does not allow either, and Unisono does: */
    if (strcmp(what, "pointer") == 0)
        return MPI_File_write_all(file, data, 64, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 0;
}

static void print_codes(int code) {
    int* const codes = malloc((size_t)ranks * sizeof *codes);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    MPI_Gather(&error_class, 1, MPI_INT, codes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < ranks; ++i)
        puts(codes[i] == MPI_SUCCESS        ? "success"
             : codes[i] == MPI_ERR_NOT_SAME ? "not_same"
                                            : "another error");
    free(codes);
}

static int count_threads(void) {
    DIR* const tasks = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent const* task; (task = readdir(tasks)) != NULL;)
        if (task->d_name[0] != '.') ++count;
    closedir(tasks);
    return count;
}

int main(int argc, char** argv) {
    int const mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(name, sizeof name, "%s-other", argv[1]);
    int const threads_before = count_threads();
    MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &file);
    MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &other);
    write_at(file);
    write_at(other);
    print_codes(rank == ranks - 1 ? out_of_step(argv[2], argc > 3 ? (unsigned)atoi(argv[3]) : 0)
                                  : in_step(argv[2]));
    int const threads_while_open = count_threads();
    int const goes_on = write_at(file) == MPI_SUCCESS && write_at(other) == MPI_SUCCESS &&
                        MPI_File_close(&file) == MPI_SUCCESS &&
                        MPI_File_close(&other) == MPI_SUCCESS;
    if (goes_on && rank == 0) puts("went on");
    if (rank == 0 && strcmp(argv[2], "threads") == 0)
        printf("threads: %d, %d\n", threads_while_open - threads_before,
               count_threads() - threads_before);
    MPI_Finalize();
    return goes_on ? 0 : 1;
}
