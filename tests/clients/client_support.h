// What the client programs share: checks that name the place, and the one line that the tests read.
// Plain C, so that C, C++ and HDF5 programs can use it.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static long client_failures = 0;
static char client_strategy[128] = "";

// Counts a failure and says where; a program may go on, all ranks agree on the verdict at the end.
#define CLIENT_CHECK(condition)                                                    \
    do {                                                                           \
        if (!(condition) && ++client_failures <= 5)                                \
            fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition); \
    } while (0)

// For what the program cannot go on without.
#define CLIENT_REQUIRE(condition)                                                   \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                           \
        }                                                                           \
    } while (0)

static inline void client_note_info(MPI_Info info) {
    int found = 0;
    char value[sizeof client_strategy];
    MPI_Info_get(info, "unisono_strategy", (int)sizeof value - 1, value, &found);
    if (found) strcpy(client_strategy, value);
}

static inline void client_note_strategy(MPI_File file) {
    MPI_Info info;
    CLIENT_REQUIRE(MPI_File_get_info(file, &info) == MPI_SUCCESS);
    client_note_info(info);
    MPI_Info_free(&info);
}

// Collective. Rank 0 prints the verdict if every rank is content. Returns the exit status.
static inline int client_verdict(void) {
    int rank = 0;
    long failures = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&client_failures, &failures, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && failures == 0) printf("verdict: ok strategy=%s\n", client_strategy);
    return failures == 0 ? 0 : 1;
}
