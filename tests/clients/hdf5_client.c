// A parallel HDF5 program that is hard on the MPI-IO layer below: hundreds of files one after the
// other, and one file of many contiguous and chunked datasets with strided, partial and empty
// selections. Everything is collective, closed, opened again and verified.
// usage: hdf5_client FILE [FILES]
#include <hdf5.h>
#include <stdlib.h>

#include "client_support.h"

enum { datasets = 40, rows_per_rank = 24, columns = 60, chunk_rows = 7, chunk_columns = 16 };
enum { fill_value = -99 };

static int rank, ranks;

static int value_of(int dataset, hsize_t row, hsize_t column) {
    return (int)(dataset * 1000003u + row * 1009u + column + 1);
}

static hid_t require(hid_t handle) {
    CLIENT_REQUIRE(handle >= 0);
    return handle;
}

static hid_t open_parallel(char const* path, int create) {
    hid_t const access = require(H5Pcreate(H5P_FILE_ACCESS));
    require(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    require(H5Pset_coll_metadata_write(access, 1));
    require(H5Pset_all_coll_metadata_ops(access, 1));
    hid_t const file = require(create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                                      : H5Fopen(path, H5F_ACC_RDONLY, access));
    H5Pclose(access);
    return file;
}

static void note_strategy(hid_t file) {
    MPI_File* native = NULL;
    require(H5Fget_vfd_handle(file, H5P_DEFAULT, (void**)&native));
    client_note_strategy(*native);
}

static hid_t collective(void) {
    hid_t const transfer = require(H5Pcreate(H5P_DATASET_XFER));
    require(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
    return transfer;
}

// Every third dataset is contiguous, the others are chunked with chunks that no rank owns alone.
// With an explicit fill value, for HDF5 leaves what nobody wrote undefined otherwise.
static hid_t creation_of(int dataset) {
    hid_t const creation = require(H5Pcreate(H5P_DATASET_CREATE));
    int const fill = fill_value;
    require(H5Pset_fill_value(creation, H5T_NATIVE_INT, &fill));
    hsize_t const chunk[] = {chunk_rows, chunk_columns};
    if (dataset % 3 != 0) require(H5Pset_chunk(creation, 2, chunk));
    return creation;
}

// Selects this rank's share of the dataset in `space`: its rows by turns (row i belongs to rank
// i mod ranks), every column or, in odd datasets, every second one. The last rank sits out in
// every fifth dataset if others are there, with an empty selection.
struct share {
    hsize_t start[2], stride[2], count[2];
    int none;
};

static struct share share_of(int dataset) {
    struct share const share = {
        .start = {(hsize_t)rank, 0},
        .stride = {(hsize_t)ranks, dataset % 2 ? 2 : 1},
        .count = {rows_per_rank, dataset % 2 ? columns / 2 : columns},
        .none = dataset % 5 == 4 && ranks > 1 && rank == ranks - 1,
    };
    return share;
}

static void select_share(hid_t space, struct share const* share) {
    if (share->none)
        require(H5Sselect_none(space));
    else
        require(H5Sselect_hyperslab(space, H5S_SELECT_SET, share->start, share->stride,
                                    share->count, NULL));
}

// In memory the share is a matrix with one spare column on the right: not contiguous either.
static hid_t memory_of(struct share const* share) {
    hsize_t const extent[] = {share->count[0], share->count[1] + 1};
    hsize_t const start[] = {0, 0};
    hid_t const memory = require(H5Screate_simple(2, extent, NULL));
    require(H5Sselect_hyperslab(memory, H5S_SELECT_SET, start, NULL, share->count, NULL));
    if (share->none) require(H5Sselect_none(memory));
    return memory;
}

static int* new_buffer(struct share const* share, int fill) {
    hsize_t const cells = share->count[0] * (share->count[1] + 1);
    int* const buffer = malloc(cells * sizeof *buffer);
    CLIENT_REQUIRE(buffer != NULL);
    for (hsize_t i = 0; i < cells; ++i) buffer[i] = fill;
    return buffer;
}

static int expected_in_memory(int dataset, struct share const* share, hsize_t i, hsize_t j) {
    return value_of(dataset, share->start[0] + i * share->stride[0],
                    share->start[1] + j * share->stride[1]);
}

static void write_dataset(hid_t file, int dataset, hid_t transfer) {
    char name[32];
    snprintf(name, sizeof name, "dataset%03d", dataset);
    hsize_t const extent[] = {(hsize_t)rows_per_rank * ranks, columns};
    struct share const share = share_of(dataset);
    hid_t const space = require(H5Screate_simple(2, extent, NULL));
    hid_t const memory = memory_of(&share), creation = creation_of(dataset);
    hid_t const handle =
        require(H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    int* const buffer = new_buffer(&share, -1);
    for (hsize_t i = 0; i < share.count[0]; ++i)
        for (hsize_t j = 0; j < share.count[1]; ++j)
            buffer[i * (share.count[1] + 1) + j] = expected_in_memory(dataset, &share, i, j);
    select_share(space, &share);
    require(H5Dwrite(handle, H5T_NATIVE_INT, memory, space, transfer, buffer));
    free(buffer);
    H5Dclose(handle);
    H5Pclose(creation);
    H5Sclose(memory);
    H5Sclose(space);
}

// Reads this rank's share through the same selection: what was not selected in memory must stay.
static void read_share(hid_t file, int dataset, hid_t transfer) {
    char name[32];
    snprintf(name, sizeof name, "dataset%03d", dataset);
    struct share const share = share_of(dataset);
    hid_t const handle = require(H5Dopen2(file, name, H5P_DEFAULT));
    hid_t const space = require(H5Dget_space(handle)), memory = memory_of(&share);
    int* const buffer = new_buffer(&share, -7);
    select_share(space, &share);
    require(H5Dread(handle, H5T_NATIVE_INT, memory, space, transfer, buffer));
    for (hsize_t i = 0; i < share.count[0]; ++i) {
        int const* const row = buffer + i * (share.count[1] + 1);
        CLIENT_CHECK(row[share.count[1]] == -7);
        for (hsize_t j = 0; j < share.count[1]; ++j)
            CLIENT_CHECK(row[j] == (share.none ? -7 : expected_in_memory(dataset, &share, i, j)));
    }
    free(buffer);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(handle);
}

// Every rank reads the whole dataset: what nobody wrote must be the fill value.
static void read_whole(hid_t file, int dataset, hid_t transfer) {
    char name[32];
    snprintf(name, sizeof name, "dataset%03d", dataset);
    hsize_t const rows = (hsize_t)rows_per_rank * ranks;
    int const last_sits_out = dataset % 5 == 4 && ranks > 1;
    hid_t const handle = require(H5Dopen2(file, name, H5P_DEFAULT));
    int* const buffer = malloc(rows * columns * sizeof *buffer);
    CLIENT_REQUIRE(buffer != NULL);
    require(H5Dread(handle, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, transfer, buffer));
    for (hsize_t row = 0; row < rows; ++row)
        for (hsize_t column = 0; column < columns; ++column) {
            int const skipped =
                (dataset % 2 && column % 2) || (last_sits_out && row % ranks == (hsize_t)ranks - 1);
            CLIENT_CHECK(buffer[row * columns + column] ==
                         (skipped ? fill_value : value_of(dataset, row, column)));
        }
    free(buffer);
    H5Dclose(handle);
}

static void many_datasets(char const* path) {
    hid_t const transfer = collective();
    hid_t file = open_parallel(path, 1);
    note_strategy(file);
    for (int dataset = 0; dataset < datasets; ++dataset) write_dataset(file, dataset, transfer);
    require(H5Fclose(file));
    file = open_parallel(path, 0);
    for (int dataset = 0; dataset < datasets; ++dataset) {
        read_share(file, dataset, transfer);
        read_whole(file, dataset, transfer);
    }
    require(H5Fclose(file));
    H5Pclose(transfer);
}

static void many_files(char const* path, int files) {
    hid_t const transfer = collective();
    for (int i = 0; i < files; ++i) {
        char name[600];
        snprintf(name, sizeof name, "%s.%04d", path, i);
        hid_t file = open_parallel(name, 1);
        write_dataset(file, i, transfer);
        require(H5Fclose(file));
        file = open_parallel(name, 0);
        read_share(file, i, transfer);
        require(H5Fclose(file));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) remove(name);
    }
    H5Pclose(transfer);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CLIENT_REQUIRE(argc >= 2);
    many_datasets(argv[1]);
    many_files(argv[1], argc > 2 ? atoi(argv[2]) : 200);
    int const verdict = client_verdict();
    MPI_Finalize();
    return verdict;
}
