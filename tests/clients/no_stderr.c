/* No standard error when files are opened: one of them gets its number, and must not get its lines.
   With a third name: none from the beginning; something is opened before MPI is, as MPI libraries
   themselves do. */
#include <fcntl.h>
#include <unistd.h>

#include "client_support.h"

enum { bytes = 100 };

static MPI_File opened(char const* path) {
    MPI_File file;
    CLIENT_REQUIRE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
                                 MPI_INFO_NULL, &file) == MPI_SUCCESS);
    return file;
}

int main(int count, char** words) {
    int const log = count > 3 ? open(words[3], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    MPI_Init(&count, &words);
    char data[bytes] = {1}, back[bytes + 1] = {0};
    if (log < 0) close(STDERR_FILENO);
    CLIENT_CHECK(log < 0 || log == STDERR_FILENO);
    MPI_File file = opened(words[1]), other = opened(words[2]);
    CLIENT_CHECK(fcntl(STDERR_FILENO, F_GETFD) >= 0);
    CLIENT_CHECK(MPI_File_write_at(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
                 MPI_SUCCESS);
    client_note_strategy(file);
    CLIENT_CHECK(MPI_File_close(&other) == MPI_SUCCESS); /* which is reported */
    CLIENT_CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    int const descriptor = open(words[1], O_RDONLY);
    CLIENT_CHECK(read(descriptor, back, sizeof back) == bytes && memcmp(back, data, bytes) == 0);
    close(descriptor);
    CLIENT_CHECK(log < 0 || lseek(log, 0, SEEK_END) == 0);
    unlink(words[1]);
    unlink(words[2]);
    int const status = client_verdict();
    MPI_Finalize();
    return status;
}
