// A small program as a user of an installed Unisono would build one: each rank writes and reads its
// every other integer of a file. Prints the hint that only Unisono gives.
#include <mpi.h>
#include <stdio.h>

enum { pieces = 1000 };

static void require(int condition, char const* what) {
    if (!condition) {
        fprintf(stderr, "failed: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static MPI_File open_interleaved(char const* path, int rank, int ranks) {
    MPI_File file;
    int const mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    require(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
    MPI_Datatype every_nth;
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)ranks * (MPI_Aint)sizeof(int), &every_nth);
    MPI_Type_commit(&every_nth);
    MPI_Offset const begin = rank * (MPI_Offset)sizeof(int);
    require(
        MPI_File_set_view(file, begin, MPI_INT, every_nth, "native", MPI_INFO_NULL) == MPI_SUCCESS,
        "set_view");
    MPI_Type_free(&every_nth);
    return file;
}

static void print_strategy(MPI_File file) {
    MPI_Info info;
    MPI_File_get_info(file, &info);
    char value[MPI_MAX_INFO_VAL + 1];
    int present = 0;
    MPI_Info_get(info, "unisono_strategy", MPI_MAX_INFO_VAL, value, &present);
    printf("unisono_strategy=%s\n", present ? value : "none");
    MPI_Info_free(&info);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    require(argc == 2, "usage: uses_unisono PATH");
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    int written[pieces], read[pieces] = {0};
    for (int i = 0; i < pieces; ++i) written[i] = i * ranks + rank;
    MPI_File file = open_interleaved(argv[1], rank, ranks);
    require(MPI_File_write_all(file, written, pieces, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
            "write_all");
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    require(MPI_File_read_all(file, read, pieces, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
            "read_all");
    for (int i = 0; i < pieces; ++i) require(read[i] == written[i], "contents");

    if (rank == 0) print_strategy(file);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
