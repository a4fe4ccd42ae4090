/* Every rank its pieces of each row, written and read collectively: strided FILE
   Prints the MPI library's version, the file's unisono_strategy and, as its last line, "strided:
   ok" if each byte is where it belongs. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { rows = 2000, piece = 96, bytes = rows * piece };

static char expected(int rank, int at) { return (char)(at * 7 + rank * 31 + at / 251); }

static int fail(char const* what) {
    fprintf(stderr, "strided: %s\n", what);
    return 1;
}

static int count_is_wrong(MPI_Status* status) {
    int count = 0;
    MPI_Get_count(status, MPI_BYTE, &count);
    return count == bytes ? 0 : fail("a count is wrong");
}

static int move(MPI_File file, int rank) {
    static char written[bytes], read[bytes];
    MPI_Status status;
    int failures = 0;
    for (int at = 0; at < bytes; ++at) written[at] = expected(rank, at);
    if (MPI_File_write_all(file, written, bytes, MPI_BYTE, &status) != MPI_SUCCESS)
        return fail("write");
    failures += count_is_wrong(&status);
    if (MPI_File_read_at_all(file, 0, read, bytes, MPI_BYTE, &status) != MPI_SUCCESS)
        return fail("read");
    failures += count_is_wrong(&status);
    if (memcmp(written, read, bytes) != 0) failures += fail("a byte that was read is wrong");
    return failures;
}

static int check_file(char const* path, int ranks) {
    FILE* file = fopen(path, "rb");
    int wrong = 0;
    if (file == NULL) return fail("no file");
    for (int row = 0; row < rows; ++row)
        for (int rank = 0; rank < ranks; ++rank)
            for (int at = row * piece; at < (row + 1) * piece; ++at)
                wrong += fgetc(file) != (unsigned char)expected(rank, at);
    wrong += fgetc(file) != EOF;
    fclose(file);
    return wrong == 0 ? 0 : fail("the file is wrong");
}

static void print_strategy(MPI_File file) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info info;
    MPI_File_get_info(file, &info);
    MPI_Info_get(info, "unisono_strategy", MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    printf("unisono_strategy: %s\n", found ? value : "");
}

int main(int count, char** words) {
    int rank, ranks, length, failures, all;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_File file;
    MPI_Datatype view;
    MPI_Init(&count, &words);
    if (count != 2) return fail("usage: strided FILE");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_library_version(version, &length);
    MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Type_vector(rows, piece, piece * ranks, MPI_BYTE, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(file, (MPI_Offset)rank * piece, MPI_BYTE, view, "native", MPI_INFO_NULL);
    MPI_Type_free(&view);
    if (rank == 0) {
        printf("version: %.*s\n", (int)strcspn(version, "\n"), version);
        print_strategy(file);
    }
    failures = move(file, rank);
    MPI_File_close(&file);
    if (rank == 0) failures += check_file(words[1], ranks);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("strided: ok\n");
    MPI_Finalize();
    return all != 0;
}
