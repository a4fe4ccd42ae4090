#include "demo_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int my_rank(void) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static void usage_and_exit(char const* program, char const* size_meaning, long default_size) {
    if (my_rank() == 0)
        fprintf(stderr,
                "usage: %s --path FILE [--write | --read | --both] [--size N]\n"
                "  --size N   %s (default %ld)\n",
                program, size_meaning, default_size);
    MPI_Finalize();
    exit(2);
}

void demo_parse(int argc, char** argv, char const* size_meaning, long default_size,
                struct demo_options* options) {
    *options = (struct demo_options){.path = NULL, .write = 1, .read = 1, .size = default_size};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--write") == 0) {
            options->read = 0;
        } else if (strcmp(argv[i], "--read") == 0) {
            options->write = 0;
        } else if (strcmp(argv[i], "--both") == 0) {
            options->write = options->read = 1;
        } else if (strcmp(argv[i], "--path") == 0 && i + 1 < argc) {
            options->path = argv[++i];
        } else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc) {
            options->size = strtol(argv[++i], NULL, 10);
        } else {
            usage_and_exit(argv[0], size_meaning, default_size);
        }
    }
    if (options->path == NULL || options->size < 1 || !(options->write || options->read))
        usage_and_exit(argv[0], size_meaning, default_size);
}

double demo_start(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

double demo_seconds_since(double start) { return MPI_Wtime() - start; }

void demo_check(int error, char const* call) {
    if (error == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "rank %d: %s: %s\n", my_rank(), call, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void demo_check_bytes(MPI_Status const* status, long long expected_bytes, char const* call) {
    MPI_Count bytes = 0;
    MPI_Get_elements_x(status, MPI_BYTE, &bytes);
    if (bytes == expected_bytes) return;
    fprintf(stderr, "rank %d: %s moved %lld bytes instead of %lld\n", my_rank(), call,
            (long long)bytes, expected_bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void demo_note_strategy(MPI_File file, struct demo_result* result) {
    MPI_Info info;
    int found = 0;
    demo_check(MPI_File_get_info(file, &info), "MPI_File_get_info");
    MPI_Info_get(info, "unisono_strategy", (int)sizeof result->strategy - 1, result->strategy,
                 &found);
    if (!found) result->strategy[0] = '\0';
    MPI_Info_free(&info);
}

int demo_finish(char const* program, struct demo_options const* options,
                struct demo_result const* result) {
    double const mine[] = {result->write_calls_seconds, result->write_whole_seconds,
                           result->read_calls_seconds, result->read_whole_seconds};
    double slowest[4];
    long long wrong = 0;
    int ranks = 0;
    MPI_Allreduce(mine, slowest, 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&result->wrong_values, &wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (my_rank() == 0)
        printf(
            "{\"program\": \"%s\", \"ranks\": %d, \"size\": %ld, \"bytes\": %.0f, "
            "\"write_seconds\": %.6f, \"write_open_to_close_seconds\": %.6f, "
            "\"read_seconds\": %.6f, \"read_open_to_close_seconds\": %.6f, "
            "\"verified\": %s, \"wrong_values\": %lld, \"unisono_strategy\": \"%s\"}\n",
            program, ranks, options->size, result->bytes, slowest[0], slowest[1], slowest[2],
            slowest[3], options->read ? (wrong == 0 ? "true" : "false") : "null", wrong,
            result->strategy);
    return wrong == 0 ? 0 : 1;
}
