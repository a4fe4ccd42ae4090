/* A program without MPI_THREAD_MULTIPLE that begins a nonblocking collective write and does other
   things before it waits. usage: carried FILE WHAT, where WHAT is what it calls meanwhile: nothing,
   position, test, probe. It looks at the file by itself until all is there, or for 2 min; with
   "nothing" for half a second. Each rank prints what a counting tool has counted before the wait
   and after it, and whether the file was complete. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { piece_bytes = 64, pieces = 4000, mine_bytes = piece_bytes * pieces };

static int rank, ranks;
static MPI_File file;

static char const* whole(char const* path) {
    static char bytes[mine_bytes * 16];
    size_t const expected = (size_t)mine_bytes * (size_t)ranks;
    int const descriptor = open(path, O_RDONLY);
    ssize_t const got = read(descriptor, bytes, expected);
    close(descriptor);
    int right = got == (ssize_t)expected;
    for (size_t i = 0; right && i < expected; ++i)
        right = bytes[i] == (char)(1 + (int)(i / piece_bytes) % ranks);
    return right ? "complete" : "incomplete";
}

static uint64_t counted(char const* what) {
    uint64_t (*get)(void);
    void* symbol = dlsym(RTLD_DEFAULT, what);
    memcpy(&get, &symbol, sizeof symbol);
    return symbol == NULL ? 0 : get();
}

static void print(char const* when, char const* path) {
    printf("rank %d %s: messages=%ju written=%ju %s\n", rank, when,
           (uintmax_t)counted("counting_tool_messages"),
           (uintmax_t)counted("counting_tool_written"), whole(path));
    fflush(stdout);
}

static void call(char const* what) {
    MPI_Offset offset;
    MPI_Request none = MPI_REQUEST_NULL;
    int flag;
    if (strcmp(what, "position") == 0) MPI_File_get_position(file, &offset);
    if (strcmp(what, "test") == 0) MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
    if (strcmp(what, "probe") == 0)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void compute(char const* what, char const* path) {
    double const limit_s = strcmp(what, "nothing") == 0 ? 0.5 : 120;
    double const begin_s = MPI_Wtime();
    while (MPI_Wtime() - begin_s < limit_s && strcmp(whole(path), "complete") != 0) {
        call(what);
        usleep(500);
    }
}

int main(int argc, char** argv) {
    static char data[mine_bytes];
    int provided;
    MPI_Datatype strided;
    MPI_Request request;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks > 16) MPI_Abort(MPI_COMM_WORLD, 2);
    memset(data, 1 + rank, sizeof data);
    MPI_Type_vector(pieces, piece_bytes, piece_bytes * ranks, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, (MPI_Offset)piece_bytes * rank, MPI_BYTE, strided, "native",
                      MPI_INFO_NULL);
    MPI_File_iwrite_all(file, data, mine_bytes, MPI_BYTE, &request);
    compute(argv[2], argv[1]);
    print("before", argv[1]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    print("after", argv[1]);
    MPI_File_close(&file);
    MPI_Type_free(&strided);
    MPI_Finalize();
    return 0;
}
