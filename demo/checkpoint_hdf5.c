/* A checkpoint as block-structured adaptive codes (FLASH and its kin) write it with parallel HDF5:
 * many variables, each one dataset of blocks x cells x cells x cells doubles; in memory every block
 * carries guard cells, so the selection there has holes. All transfers are collective.
 *
 * --cells N: along a block's side (16); --variables N: datasets (24); --collective-metadata: HDF5
 * reads and writes its metadata by collective calls as well. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo_support.h"

enum { guard_cells = 4, dimensions = 4 };
static int variables = 24;
static int collective_metadata = 0;
static int cells_per_side = 16;
static int side_with_guards = 16 + 2 * guard_cells;

struct blocks {
    hsize_t mine, first, all;
    hid_t in_memory; /* dataspace: this rank's blocks, guard cells not selected */
    hid_t in_file;   /* dataspace: all blocks, this rank's selected */
    double* cells;   /* one variable of this rank's blocks, with guard cells */
};

static hid_t require(hid_t handle, char const* call) {
    if (handle >= 0) return handle;
    fprintf(stderr, "%s failed\n", call);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return handle;
}

static size_t cell_index(hsize_t block, int z, int y, int x) {
    size_t index = block * side_with_guards + guard_cells + z;
    index = index * side_with_guards + guard_cells + y;
    return index * side_with_guards + guard_cells + x;
}

static double expected_cell(struct blocks const* blocks, int variable, hsize_t block, int z, int y,
                            int x) {
    uint64_t index = (uint64_t)variable * blocks->all + blocks->first + block;
    index = ((index * cells_per_side + z) * cells_per_side + y) * cells_per_side + x;
    return (double)(demo_value(index) >> 12); /* 52 bits: exact as a double, never NaN */
}

static struct blocks make_blocks(hsize_t blocks_per_rank) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct blocks blocks = {
        .mine = blocks_per_rank, .first = blocks_per_rank * rank, .all = blocks_per_rank * ranks};

    hsize_t const memory[] = {blocks.mine, side_with_guards, side_with_guards, side_with_guards};
    hsize_t const interior[] = {0, guard_cells, guard_cells, guard_cells};
    hsize_t const file[] = {blocks.all, cells_per_side, cells_per_side, cells_per_side};
    hsize_t const start[] = {blocks.first, 0, 0, 0};
    hsize_t const count[] = {blocks.mine, cells_per_side, cells_per_side, cells_per_side};
    blocks.in_memory = require(H5Screate_simple(dimensions, memory, NULL), "H5Screate_simple");
    blocks.in_file = require(H5Screate_simple(dimensions, file, NULL), "H5Screate_simple");
    require(H5Sselect_hyperslab(blocks.in_memory, H5S_SELECT_SET, interior, NULL, count, NULL),
            "H5Sselect_hyperslab");
    require(H5Sselect_hyperslab(blocks.in_file, H5S_SELECT_SET, start, NULL, count, NULL),
            "H5Sselect_hyperslab");
    blocks.cells = calloc(cell_index(blocks.mine, 0, 0, 0), sizeof *blocks.cells);
    if (blocks.cells == NULL) require(-1, "calloc");
    return blocks;
}

static void free_blocks(struct blocks* blocks) {
    H5Sclose(blocks->in_memory);
    H5Sclose(blocks->in_file);
    free(blocks->cells);
}

static void fill(struct blocks* blocks, int variable) {
    for (hsize_t block = 0; block < blocks->mine; ++block)
        for (int z = 0; z < cells_per_side; ++z)
            for (int y = 0; y < cells_per_side; ++y)
                for (int x = 0; x < cells_per_side; ++x)
                    blocks->cells[cell_index(block, z, y, x)] =
                        expected_cell(blocks, variable, block, z, y, x);
}

static long long count_wrong(struct blocks const* blocks, int variable) {
    long long wrong = 0;
    for (hsize_t block = 0; block < blocks->mine; ++block)
        for (int z = 0; z < cells_per_side; ++z)
            for (int y = 0; y < cells_per_side; ++y)
                for (int x = 0; x < cells_per_side; ++x)
                    wrong += blocks->cells[cell_index(block, z, y, x)] !=
                             expected_cell(blocks, variable, block, z, y, x);
    return wrong;
}

static hid_t parallel_access(void) {
    hid_t const access = require(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
    require(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    require(H5Pset_coll_metadata_write(access, collective_metadata), "H5Pset_coll_metadata_write");
    require(H5Pset_all_coll_metadata_ops(access, collective_metadata),
            "H5Pset_all_coll_metadata_ops");
    return access;
}

static hid_t collective_transfer(void) {
    hid_t const transfer = require(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
    require(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
    return transfer;
}

/* No time stamps and no fill values: the file must depend on nothing but the data. */
static hid_t reproducible_dataset(void) {
    hid_t const creation = require(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
    require(H5Pset_obj_track_times(creation, 0), "H5Pset_obj_track_times");
    require(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
    return creation;
}

static void variable_name(char name[16], int variable) { snprintf(name, 16, "var%02d", variable); }

static void note_strategy(hid_t file, hid_t access, struct demo_result* result) {
    MPI_File* native = NULL;
    require(H5Fget_vfd_handle(file, access, (void**)&native), "H5Fget_vfd_handle");
    demo_note_strategy(*native, result);
}

static void write_checkpoint(struct blocks* blocks, char const* path, struct demo_result* result) {
    hid_t const access = parallel_access(), transfer = collective_transfer();
    hid_t const creation = reproducible_dataset();
    double start = demo_start();
    hid_t const file = require(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), "H5Fcreate");
    result->write_whole_seconds += demo_seconds_since(start);
    for (int variable = 0; variable < variables; ++variable) {
        char name[16];
        variable_name(name, variable);
        fill(blocks, variable);
        start = demo_start();
        hid_t const dataset = require(H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, blocks->in_file,
                                                 H5P_DEFAULT, creation, H5P_DEFAULT),
                                      "H5Dcreate2");
        double const data = demo_start();
        require(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, blocks->in_memory, blocks->in_file, transfer,
                         blocks->cells),
                "H5Dwrite");
        result->write_calls_seconds += demo_seconds_since(data);
        H5Dclose(dataset);
        result->write_whole_seconds += demo_seconds_since(start);
    }
    note_strategy(file, access, result);
    start = demo_start();
    require(H5Fclose(file), "H5Fclose");
    result->write_whole_seconds += demo_seconds_since(start);
    H5Pclose(creation);
    H5Pclose(transfer);
    H5Pclose(access);
}

static void read_checkpoint(struct blocks* blocks, char const* path, struct demo_result* result) {
    hid_t const access = parallel_access(), transfer = collective_transfer();
    double start = demo_start();
    hid_t const file = require(H5Fopen(path, H5F_ACC_RDONLY, access), "H5Fopen");
    result->read_whole_seconds += demo_seconds_since(start);
    for (int variable = 0; variable < variables; ++variable) {
        char name[16];
        variable_name(name, variable);
        fill(blocks, variables); /* values that no variable has, so that nothing passes unread */
        start = demo_start();
        hid_t const dataset = require(H5Dopen2(file, name, H5P_DEFAULT), "H5Dopen2");
        double const data = demo_start();
        require(H5Dread(dataset, H5T_NATIVE_DOUBLE, blocks->in_memory, blocks->in_file, transfer,
                        blocks->cells),
                "H5Dread");
        result->read_calls_seconds += demo_seconds_since(data);
        H5Dclose(dataset);
        result->read_whole_seconds += demo_seconds_since(start);
        result->wrong_values += count_wrong(blocks, variable);
    }
    note_strategy(file, access, result);
    start = demo_start();
    require(H5Fclose(file), "H5Fclose");
    result->read_whole_seconds += demo_seconds_since(start);
    H5Pclose(transfer);
    H5Pclose(access);
}

/* Takes "NAME N" out of the command line; `otherwise` if it is not there or makes no sense. */
static int take_number(int* argc, char** argv, char const* name, int otherwise) {
    for (int i = 1; i + 1 < *argc; ++i) {
        if (strcmp(argv[i], name) != 0) continue;
        int const number = (int)strtol(argv[i + 1], NULL, 10);
        memmove(argv + i, argv + i + 2, (size_t)(*argc - i - 1) * sizeof *argv);
        *argc -= 2;
        return number >= 1 ? number : otherwise;
    }
    return otherwise;
}

/* Takes a word out of the command line, if it is there. */
static int take_word(int* argc, char** argv, char const* word) {
    for (int i = 1; i < *argc; ++i) {
        if (strcmp(argv[i], word) != 0) continue;
        memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof *argv);
        *argc -= 1;
        return 1;
    }
    return 0;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    cells_per_side = take_number(&argc, argv, "--cells", cells_per_side);
    variables = take_number(&argc, argv, "--variables", variables);
    collective_metadata = take_word(&argc, argv, "--collective-metadata");
    side_with_guards = cells_per_side + 2 * guard_cells;
    struct demo_options options;
    demo_parse(argc, argv, "blocks of doubles per rank and variable", 48, &options);

    struct blocks blocks = make_blocks(options.size);
    struct demo_result result = {.bytes = 8.0 * variables * blocks.all * cells_per_side *
                                          cells_per_side * cells_per_side};
    if (options.write) write_checkpoint(&blocks, options.path, &result);
    if (options.read) read_checkpoint(&blocks, options.path, &result);
    free_blocks(&blocks);

    int const verdict = demo_finish("checkpoint_hdf5", &options, &result);
    MPI_Finalize();
    return verdict;
}
