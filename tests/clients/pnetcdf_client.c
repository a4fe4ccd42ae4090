// A PnetCDF program as climate codes write it: fixed and record variables, blocking collective and
// nonblocking accesses, strided and mapped ones and lists of small blocks, verified after
// reopening. usage: pnetcdf_client FILE
#include <pnetcdf.h>
#include <stdlib.h>

#include "client_support.h"

enum { levels = 6, latitudes_per_rank = 10, longitudes = 37, records = 5, variables = 8 };
enum { cells = levels * latitudes_per_rank * longitudes };

static int rank, ranks;

static void require(int error, int line) {
    if (error == NC_NOERR) return;
    fprintf(stderr, "rank %d: line %d: %s\n", rank, line, ncmpi_strerror(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define REQUIRE(call) require(call, __LINE__)

struct ids {
    int file, fixed[variables], record[variables], scattered;
};

static float value_of(int variable, int record, MPI_Offset level, MPI_Offset latitude,
                      MPI_Offset longitude) {
    MPI_Offset const cell =
        (level * latitudes_per_rank * ranks + latitude) * longitudes + longitude;
    return (float)(cell % 65536) + 65536.0f * variable + 0.125f * record;
}

// This rank's block: its latitudes, all levels and longitudes, so that ranks interleave per level.
static void fill_block(float* block, int variable, int record) {
    for (int level = 0; level < levels; ++level)
        for (int latitude = 0; latitude < latitudes_per_rank; ++latitude)
            for (int longitude = 0; longitude < longitudes; ++longitude)
                *block++ = value_of(variable, record, level, rank * latitudes_per_rank + latitude,
                                    longitude);
}

static void check_block(float const* block, int variable, int record) {
    for (int level = 0; level < levels; ++level)
        for (int latitude = 0; latitude < latitudes_per_rank; ++latitude)
            for (int longitude = 0; longitude < longitudes; ++longitude, ++block)
                CLIENT_CHECK(*block == value_of(variable, record, level,
                                                rank * latitudes_per_rank + latitude, longitude));
}

static float* new_blocks(int count) {
    float* const blocks = calloc((size_t)count * cells, sizeof *blocks);
    CLIENT_REQUIRE(blocks != NULL);
    return blocks;
}

static void note_strategy(int file) {
    MPI_Info info;
    REQUIRE(ncmpi_inq_file_info(file, &info));
    client_note_info(info);
    MPI_Info_free(&info);
}

static struct ids create(char const* path) {
    struct ids ids;
    int dimensions[4];
    char name[32];
    REQUIRE(
        ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ids.file));
    REQUIRE(ncmpi_def_dim(ids.file, "time", NC_UNLIMITED, &dimensions[0]));
    REQUIRE(ncmpi_def_dim(ids.file, "level", levels, &dimensions[1]));
    REQUIRE(ncmpi_def_dim(ids.file, "latitude", (MPI_Offset)latitudes_per_rank * ranks,
                          &dimensions[2]));
    REQUIRE(ncmpi_def_dim(ids.file, "longitude", longitudes, &dimensions[3]));
    for (int i = 0; i < variables; ++i) {
        snprintf(name, sizeof name, "fixed%d", i);
        REQUIRE(ncmpi_def_var(ids.file, name, NC_FLOAT, 3, dimensions + 1, &ids.fixed[i]));
        snprintf(name, sizeof name, "record%d", i);
        REQUIRE(ncmpi_def_var(ids.file, name, NC_FLOAT, 4, dimensions, &ids.record[i]));
    }
    REQUIRE(ncmpi_def_var(ids.file, "scattered", NC_INT, 2, dimensions + 2, &ids.scattered));
    REQUIRE(ncmpi_put_att_text(ids.file, NC_GLOBAL, "title", 12, "client check"));
    REQUIRE(ncmpi_enddef(ids.file));
    return ids;
}

static void write_fixed(struct ids const* ids) {
    MPI_Offset const start[] = {0, (MPI_Offset)rank * latitudes_per_rank, 0};
    MPI_Offset const count[] = {levels, latitudes_per_rank, longitudes};
    float* const block = new_blocks(1);
    for (int i = 0; i < variables; ++i) {
        fill_block(block, i, 0);
        REQUIRE(ncmpi_put_vara_float_all(ids->file, ids->fixed[i], start, count, block));
    }
    free(block);
}

// All variables of one record in one go: PnetCDF merges them into one collective MPI-IO call.
static void write_records(struct ids const* ids) {
    MPI_Offset const count[] = {1, levels, latitudes_per_rank, longitudes};
    float* const blocks = new_blocks(variables);
    for (int record = 0; record < records; ++record) {
        MPI_Offset const start[] = {record, 0, (MPI_Offset)rank * latitudes_per_rank, 0};
        int requests[variables], statuses[variables];
        for (int i = 0; i < variables; ++i) {
            fill_block(blocks + i * cells, i, record);
            REQUIRE(ncmpi_iput_vara_float(ids->file, ids->record[i], start, count,
                                          blocks + i * cells, &requests[i]));
        }
        REQUIRE(ncmpi_wait_all(ids->file, variables, requests, statuses));
        for (int i = 0; i < variables; ++i) REQUIRE(statuses[i]);
    }
    free(blocks);
}

// Single cells, dealt out to the ranks in turn and given as one list of requests (varn).
static int my_scattered_cells(MPI_Offset starts[][2]) {
    int mine = 0;
    for (int latitude = 0; latitude < latitudes_per_rank * ranks; ++latitude)
        for (int longitude = 0; longitude < longitudes; ++longitude)
            if ((latitude * longitudes + longitude) * 7 % ranks == rank) {
                starts[mine][0] = latitude;
                starts[mine++][1] = longitude;
            }
    return mine;
}

static void write_or_check_scattered(struct ids const* ids, int check) {
    int const most = latitudes_per_rank * ranks * longitudes;
    MPI_Offset(*starts)[2] = malloc(sizeof *starts * most);
    MPI_Offset** list = malloc(sizeof *list * most);
    int* values = malloc(sizeof *values * most);
    CLIENT_REQUIRE(starts != NULL && list != NULL && values != NULL);
    int const mine = my_scattered_cells(starts);
    for (int i = 0; i < mine; ++i) {
        list[i] = starts[i];
        values[i] = check ? -1 : (int)(starts[i][0] * longitudes + starts[i][1]);
    }
    if (check)
        REQUIRE(ncmpi_get_varn_int_all(ids->file, ids->scattered, mine, list, NULL, values));
    else
        REQUIRE(ncmpi_put_varn_int_all(ids->file, ids->scattered, mine, list, NULL, values));
    for (int i = 0; i < mine; ++i)
        CLIENT_CHECK(values[i] == (int)(starts[i][0] * longitudes + starts[i][1]));
    free(values);
    free(list);
    free(starts);
}

static void check_fixed(struct ids const* ids) {
    MPI_Offset const start[] = {0, (MPI_Offset)rank * latitudes_per_rank, 0};
    MPI_Offset const count[] = {levels, latitudes_per_rank, longitudes};
    for (int i = 0; i < variables; ++i) {
        float* const block = new_blocks(1);
        REQUIRE(ncmpi_get_vara_float_all(ids->file, ids->fixed[i], start, count, block));
        check_block(block, i, 0);
        free(block);
    }
}

static void check_records(struct ids const* ids) {
    MPI_Offset const count[] = {records, levels, latitudes_per_rank, longitudes};
    MPI_Offset const start[] = {0, 0, (MPI_Offset)rank * latitudes_per_rank, 0};
    int requests[variables], statuses[variables];
    float* const blocks = new_blocks(variables * records);
    for (int i = 0; i < variables; ++i)
        REQUIRE(ncmpi_iget_vara_float(ids->file, ids->record[i], start, count,
                                      blocks + i * records * cells, &requests[i]));
    REQUIRE(ncmpi_wait_all(ids->file, variables, requests, statuses));
    for (int i = 0; i < variables; ++i)
        for (int record = 0; record < records; ++record)
            check_block(blocks + (i * records + record) * cells, i, record);
    free(blocks);
}

// Every second level and third longitude, into memory that is transposed by an index map.
static void check_strided(struct ids const* ids) {
    enum { some_levels = levels / 2, some_longitudes = (longitudes + 2) / 3 };
    MPI_Offset const start[] = {0, (MPI_Offset)rank * latitudes_per_rank, 0};
    MPI_Offset const count[] = {some_levels, latitudes_per_rank, some_longitudes};
    MPI_Offset const stride[] = {2, 1, 3};
    MPI_Offset const map[] = {1, some_levels * some_longitudes, some_levels};
    float block[latitudes_per_rank][some_longitudes][some_levels];
    REQUIRE(ncmpi_get_varm_float_all(ids->file, ids->fixed[3], start, count, stride, map,
                                     &block[0][0][0]));
    for (int latitude = 0; latitude < latitudes_per_rank; ++latitude)
        for (int longitude = 0; longitude < some_longitudes; ++longitude)
            for (int level = 0; level < some_levels; ++level)
                CLIENT_CHECK(
                    block[latitude][longitude][level] ==
                    value_of(3, 0, 2 * level, rank * latitudes_per_rank + latitude, 3 * longitude));
}

static void check_header(struct ids const* ids) {
    char title[13] = "";
    MPI_Offset found = 0;
    int time;
    REQUIRE(ncmpi_get_att_text(ids->file, NC_GLOBAL, "title", title));
    CLIENT_CHECK(strcmp(title, "client check") == 0);
    REQUIRE(ncmpi_inq_dimid(ids->file, "time", &time));
    REQUIRE(ncmpi_inq_dimlen(ids->file, time, &found));
    CLIENT_CHECK(found == records);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CLIENT_REQUIRE(argc == 2);
    struct ids ids = create(argv[1]);
    note_strategy(ids.file);
    write_fixed(&ids);
    write_records(&ids);
    write_or_check_scattered(&ids, 0);
    REQUIRE(ncmpi_close(ids.file));

    REQUIRE(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &ids.file));
    check_header(&ids);
    check_fixed(&ids);
    check_records(&ids);
    check_strided(&ids);
    write_or_check_scattered(&ids, 1);
    REQUIRE(ncmpi_close(ids.file));
    int const verdict = client_verdict();
    MPI_Finalize();
    return verdict;
}
