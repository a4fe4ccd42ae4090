/* Many variables of one file through PnetCDF, all doubles: written, closed, opened and read.
 *
 *   unisono-bench-netcdf.MPI flash|e3sm --path FILE [--write | --read | --both] [--size N]
 *
 * flash: as FLASH-IO, 24 variables of blocks of 16 x 16 x 16 cells, by a blocking call for each;
 *        --size: blocks of a rank.
 * e3sm:  as E3SM-IO's F case, 100 variables with one level and 40 with 24; the columns of a level
 *        are dealt out in runs of 1 to 8. A nonblocking call for each variable, with a list of
 *        those runs, and one wait for all; --size: columns of a rank, on average. */
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo_support.h"

enum { dimensions_most = 4, variables_most = 140 };
enum { flash_variables = 24, cells_per_side = 16 };
enum { flat_variables = 100, deep_variables = 40, levels = 24, run_columns_most = 8 };

static int rank, ranks;

/* A variable's shape, and this rank's pieces of it. */
struct part {
    int dimensions;
    MPI_Offset shape[dimensions_most];
    int pieces;
    MPI_Offset **starts, **counts;
    MPI_Offset values; /* of this rank */
};

struct variable {
    struct part const* part;
    double* values;
    int id;
};

static struct variable all[variables_most];
static int variables, nonblocking;

static void require(int error, char const* call) {
    if (error == NC_NOERR) return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, call, ncmpi_strerror(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* allocate(size_t bytes) {
    void* const memory = malloc(bytes);
    if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

static void add_piece(struct part* part, MPI_Offset const* start, MPI_Offset const* count) {
    size_t const bytes = part->dimensions * sizeof *start;
    int const more = part->pieces + 1;
    if ((part->pieces & (part->pieces - 1)) == 0) { /* room is a power of two */
        part->starts = realloc(part->starts, 2 * more * sizeof *part->starts);
        part->counts = realloc(part->counts, 2 * more * sizeof *part->counts);
    }
    MPI_Offset values = 1;
    for (int i = 0; i < part->dimensions; ++i) values *= count[i];
    part->values += values;
    part->starts[part->pieces] = memcpy(allocate(bytes), start, bytes);
    part->counts[part->pieces] = memcpy(allocate(bytes), count, bytes);
    part->pieces = more;
}

static void add_variables(struct part const* part, int count) {
    for (int i = 0; i < count; ++i)
        all[variables++] = (struct variable){
            .part = part, .values = allocate((part->values + 1) * sizeof(double))};
}

static void describe_flash(long blocks) {
    static struct part part = {.dimensions = 4};
    MPI_Offset const start[] = {blocks * rank, 0, 0, 0};
    MPI_Offset const count[] = {blocks, cells_per_side, cells_per_side, cells_per_side};
    memcpy(part.shape, count, sizeof count);
    part.shape[0] *= ranks;
    add_piece(&part, start, count);
    add_variables(&part, flash_variables);
}

static void describe_e3sm(long columns_of_rank) {
    static struct part flat = {.dimensions = 1}, deep = {.dimensions = 2};
    MPI_Offset const columns = columns_of_rank * ranks;
    flat.shape[0] = deep.shape[1] = columns;
    deep.shape[0] = levels;
    for (MPI_Offset level = 0; level < levels; ++level)
        for (MPI_Offset first = 0, run = 0; first < columns; ++run) {
            MPI_Offset const wanted = 1 + (MPI_Offset)(demo_value(run) % run_columns_most);
            MPI_Offset const start[] = {level, first};
            MPI_Offset const count[] = {1, wanted < columns - first ? wanted : columns - first};
            first += count[1];
            if (run % ranks != rank) continue;
            add_piece(&deep, start, count);
            if (level == 0) add_piece(&flat, start + 1, count + 1);
        }
    add_variables(&flat, flat_variables);
    add_variables(&deep, deep_variables);
    nonblocking = 1;
}

/* A whole number with 52 bits, so no NaN. */
static double value_of(int variable, MPI_Offset i) {
    uint64_t const index = ((uint64_t)variable * ranks + rank) << 32 | (uint64_t)i;
    return (double)(demo_value(index) >> 12);
}

static void define(int file) {
    for (int v = 0; v < variables; ++v) {
        struct part const* const part = all[v].part;
        char name[32];
        int ids[dimensions_most];
        for (int i = 0; i < part->dimensions; ++i) {
            snprintf(name, sizeof name, "size%lld", (long long)part->shape[i]);
            if (ncmpi_inq_dimid(file, name, &ids[i]) != NC_NOERR)
                require(ncmpi_def_dim(file, name, part->shape[i], &ids[i]), "ncmpi_def_dim");
        }
        snprintf(name, sizeof name, "variable%03d", v);
        require(ncmpi_def_var(file, name, NC_DOUBLE, part->dimensions, ids, &all[v].id),
                "ncmpi_def_var");
    }
    require(ncmpi_enddef(file), "ncmpi_enddef");
}

static void move_blocking(int file, int write) {
    for (int v = 0; v < variables; ++v) {
        struct part const* const part = all[v].part;
        MPI_Offset const *const start = part->starts[0], *const count = part->counts[0];
        require(write ? ncmpi_put_vara_double_all(file, all[v].id, start, count, all[v].values)
                      : ncmpi_get_vara_double_all(file, all[v].id, start, count, all[v].values),
                "a collective call");
    }
}

static void move_nonblocking(int file, int write) {
    int requests[variables_most], statuses[variables_most];
    for (int v = 0; v < variables; ++v) {
        struct part const* const part = all[v].part;
        require(write ? ncmpi_iput_varn_double(file, all[v].id, part->pieces, part->starts,
                                               part->counts, all[v].values, &requests[v])
                      : ncmpi_iget_varn_double(file, all[v].id, part->pieces, part->starts,
                                               part->counts, all[v].values, &requests[v]),
                "a nonblocking call");
    }
    require(ncmpi_wait_all(file, variables, requests, statuses), "ncmpi_wait_all");
    for (int v = 0; v < variables; ++v) require(statuses[v], "a request");
}

/* Adds the seconds of the calls; returns those from open to close. */
static double move_all(char const* path, int write, double* calls_s, struct demo_result* result) {
    double const begin_s = demo_start();
    int file = 0;
    if (write)
        require(
            ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
            "ncmpi_create");
    else
        require(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "ncmpi_open");
    if (write) define(file);
    double const data_s = demo_start();
    if (nonblocking)
        move_nonblocking(file, write);
    else
        move_blocking(file, write);
    *calls_s = demo_seconds_since(data_s);
    MPI_Info info = MPI_INFO_NULL;
    int found = 0;
    require(ncmpi_inq_file_info(file, &info), "ncmpi_inq_file_info");
    MPI_Info_get(info, "unisono_strategy", (int)sizeof result->strategy - 1, result->strategy,
                 &found);
    MPI_Info_free(&info);
    require(ncmpi_close(file), "ncmpi_close");
    return demo_seconds_since(begin_s);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int const e3sm = argc > 1 && strcmp(argv[1], "e3sm") == 0;
    int const named = e3sm || (argc > 1 && strcmp(argv[1], "flash") == 0);
    struct demo_options options;
    demo_parse(argc - named, argv + named, e3sm ? "columns of a rank" : "blocks of a rank",
               e3sm ? 3000 : 48, &options);
    if (e3sm)
        describe_e3sm(options.size);
    else
        describe_flash(options.size);

    struct demo_result result = {0};
    for (int v = 0; v < variables; ++v) {
        double bytes = 8.0;
        for (int i = 0; i < all[v].part->dimensions; ++i) bytes *= (double)all[v].part->shape[i];
        result.bytes += bytes;
        for (MPI_Offset i = 0; i < all[v].part->values; ++i) all[v].values[i] = value_of(v, i);
    }
    if (options.write)
        result.write_whole_seconds =
            move_all(options.path, 1, &result.write_calls_seconds, &result);
    if (options.read) {
        for (int v = 0; v < variables; ++v)
            memset(all[v].values, 0xa5, all[v].part->values * sizeof(double));
        result.read_whole_seconds = move_all(options.path, 0, &result.read_calls_seconds, &result);
        for (int v = 0; v < variables; ++v)
            for (MPI_Offset i = 0; i < all[v].part->values; ++i)
                result.wrong_values += all[v].values[i] != value_of(v, i);
    }
    int const verdict = demo_finish(e3sm ? "e3sm" : "flash", &options, &result);
    MPI_Finalize();
    return verdict;
}
