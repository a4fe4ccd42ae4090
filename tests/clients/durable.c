/* Does to one file what its second argument says, letter by letter, and prints what every sync and
   close came to:
     a write_all, w write, i iwrite and wait, n iwrite_all and wait, b write_all_begin and _end,
     o write_ordered, h write_shared, g set_size, s sync, c close,
     r read_all by a handle that is opened for that,
     f from now on closing fails: see failing_close.c
   Every rank writes 64 pieces of 1 KiB, in turns with the others, each byte the rank + 1. Without
   `c` the program ends with the file open.

   usage: durable FILE LETTERS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { piece_bytes = 1024, pieces = 64 };

static int rank = 0;
static char data[pieces * piece_bytes];

static void say(char const* call, int code) {
    int error_class = MPI_SUCCESS, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(code, &error_class);
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    printf("rank %d: %s: %s %s\n", rank, call,
           code == MPI_SUCCESS               ? "ok"
           : error_class == MPI_ERR_NO_SPACE ? "no space"
           : error_class == MPI_ERR_QUOTA    ? "quota"
                                             : "error",
           text);
    fflush(stdout);
}

static void read_by_another_handle(char const* path) {
    static char back[sizeof data];
    MPI_File other;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &other);
    MPI_File_read_all(other, back, sizeof back, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&other);
}

static void do_step(char step, MPI_File* file, char const* path) {
    MPI_Request request;
    switch (step) {
        case 'a':
            MPI_File_write_all(*file, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        case 'w':
            MPI_File_write(*file, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        case 'i':
            MPI_File_iwrite(*file, data, sizeof data, MPI_BYTE, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 'n':
            MPI_File_iwrite_all(*file, data, sizeof data, MPI_BYTE, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 'b':
            MPI_File_write_all_begin(*file, data, sizeof data, MPI_BYTE);
            MPI_File_write_all_end(*file, data, MPI_STATUS_IGNORE);
            break;
        case 'o':
            MPI_File_write_ordered(*file, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        case 'h':
            MPI_File_write_shared(*file, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
            break;
        case 'g':
            MPI_File_set_size(*file, 1 << 20);
            break;
        case 's':
            say("sync", MPI_File_sync(*file));
            break;
        case 'r':
            read_by_another_handle(path);
            break;
        case 'f':
            setenv("FAIL_CLOSE_OF", path, 1);
            break;
        case 'c':
            say("close", MPI_File_close(file));
            break;
    }
}

int main(int argc, char** argv) {
    int ranks = 1;
    MPI_File file;
    MPI_Datatype piece, tile;
    MPI_Init(&argc, &argv);
    if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    memset(data, rank + 1, sizeof data);
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Type_contiguous(piece_bytes, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)ranks * piece_bytes, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, (MPI_Offset)rank * piece_bytes, MPI_BYTE, tile, "native",
                      MPI_INFO_NULL);
    MPI_Type_free(&piece);
    MPI_Type_free(&tile);
    for (char const* step = argv[2]; *step != '\0'; ++step) do_step(*step, &file, argv[1]);
    MPI_Finalize();
    return 0;
}
