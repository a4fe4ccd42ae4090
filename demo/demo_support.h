/* What the three demonstration programs share: options, a stop-watch, and the line of JSON at the
 * end. C, because the HDF5 program is C as most of its kind are. */
#pragma once

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct demo_options {
    char const* path;
    int write;
    int read;
    long size; /* what it counts is the program's business: see its usage line */
};

/* Times are this rank's seconds. "calls" are the data-access and view calls alone, "whole" is
 * everything from open to close, so that work that moves into open or close still shows. */
struct demo_result {
    double bytes; /* moved by all ranks, once */
    double write_calls_seconds;
    double write_whole_seconds;
    double read_calls_seconds;
    double read_whole_seconds;
    long long wrong_values; /* found by this rank when it read back */
    char strategy[64];      /* the file's unisono_strategy; empty when Unisono is not there */
};

/* Fills `options` from the command line. On a wrong one rank 0 prints the usage and the program
 * ends (after MPI_Finalize) with status 2. */
void demo_parse(int argc, char** argv, char const* size_meaning, long default_size,
                struct demo_options* options);

/* Waits for all ranks and returns the time, so that each rank's interval starts together. */
double demo_start(void);

/* Seconds since demo_start() on this rank. */
double demo_seconds_since(double start);

/* Aborts the job with MPI's own words if `error` is not MPI_SUCCESS. */
void demo_check(int error, char const* call);

/* Aborts the job unless `status` counts exactly `expected_bytes`. */
void demo_check_bytes(MPI_Status const* status, long long expected_bytes, char const* call);

/* Copies the file's info value of unisono_strategy into `result`. */
void demo_note_strategy(MPI_File file, struct demo_result* result);

/* A value that depends on every bit of `index`: equal for every MPI and every number of ranks. */
static inline uint64_t demo_value(uint64_t index) {
    uint64_t const mixed = (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return mixed ^ (mixed >> 29);
}

/* Collective. Rank 0 prints one line of JSON (slowest rank's times, all ranks' wrong values).
 * Returns the exit status: 0 if no value was wrong, else 1. */
int demo_finish(char const* program, struct demo_options const* options,
                struct demo_result const* result);

#ifdef __cplusplus
}
#endif
