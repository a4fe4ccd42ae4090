// A C++ program that keeps a matrix of structures, writes it in one decomposition and reads it back
// in another: blocks of rows and columns out, block-cyclic in, as ScaLAPACK-based codes restart.
// usage: cpp_client FILE
#include <complex>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "client_support.h"

namespace {

constexpr int rows = 96, columns = 70;

struct Particle {
    std::complex<double> field;
    std::int32_t row, column;
    char tag;  // followed by padding, which no file should depend on
};

void check(int error, char const* call) {
    if (error != MPI_SUCCESS) throw std::runtime_error(call);
}

// Owns a committed datatype.
class Type {
public:
    explicit Type(MPI_Datatype handle) : handle_(handle) { MPI_Type_commit(&handle_); }
    Type(Type const&) = delete;
    Type& operator=(Type const&) = delete;
    ~Type() { MPI_Type_free(&handle_); }
    MPI_Datatype get() const { return handle_; }

private:
    MPI_Datatype handle_;
};

class File {
public:
    File(MPI_Comm communicator, std::string const& path, int mode) {
        check(MPI_File_open(communicator, path.c_str(), mode, MPI_INFO_NULL, &handle_), "open");
    }
    File(File const&) = delete;
    File& operator=(File const&) = delete;
    ~File() { MPI_File_close(&handle_); }
    MPI_File get() const { return handle_; }

private:
    MPI_File handle_;
};

Type particle_in_memory() {
    int const lengths[] = {2, 2, 1};
    MPI_Aint const places[] = {offsetof(Particle, field), offsetof(Particle, row),
                               offsetof(Particle, tag)};
    MPI_Datatype const kinds[] = {MPI_DOUBLE, MPI_INT32_T, MPI_CHAR};
    MPI_Datatype fields, particle;
    MPI_Type_create_struct(3, lengths, places, kinds, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(Particle), &particle);
    MPI_Type_free(&fields);
    return Type(particle);
}

// In the file a particle is packed: 25 bytes, deliberately no power of two.
Type particle_in_file() {
    MPI_Datatype particle;
    MPI_Type_contiguous(25, MPI_BYTE, &particle);
    return Type(particle);
}

Type decomposition(int distribution, int argument, Type const& element) {
    int rank = 0, ranks = 0, grid[2] = {0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, grid);
    int const sizes[] = {rows, columns};
    int const distributions[] = {distribution, distribution};
    int const arguments[] = {argument, argument};
    MPI_Datatype view;
    check(MPI_Type_create_darray(ranks, rank, 2, sizes, distributions, arguments, grid, MPI_ORDER_C,
                                 element.get(), &view),
          "darray");
    return Type(view);
}

int elements_of(Type const& view) {
    int bytes = 0;
    MPI_Type_size(view.get(), &bytes);
    return bytes / 25;
}

Particle particle_at(int row, int column) {
    return {{row + 0.25, column - 0.5}, row, column, static_cast<char>('a' + (row + column) % 26)};
}

bool operator==(Particle const& a, Particle const& b) {
    return a.field == b.field && a.row == b.row && a.column == b.column && a.tag == b.tag;
}

// Where this rank's i-th row or column lies in the matrix, for both distributions used here.
std::vector<int> owned(int extent, int parts, int part, int block) {
    std::vector<int> mine;
    for (int i = 0; i < extent; ++i)
        if (i / block % parts == part) mine.push_back(i);
    return mine;
}

std::vector<Particle> expected_particles(int row_block, int column_block) {
    int rank = 0, ranks = 0, grid[2] = {0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, grid);
    // A block distribution is a cyclic one whose blocks are large enough for a single round.
    int const rows_each = row_block ? row_block : (rows + grid[0] - 1) / grid[0];
    int const columns_each = column_block ? column_block : (columns + grid[1] - 1) / grid[1];
    std::vector<Particle> mine;
    for (int row : owned(rows, grid[0], rank / grid[1], rows_each))
        for (int column : owned(columns, grid[1], rank % grid[1], columns_each))
            mine.push_back(particle_at(row, column));
    return mine;
}

void write_in_blocks(std::string const& path, Type const& memory, Type const& packed) {
    auto const view = decomposition(MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, packed);
    auto const particles = expected_particles(0, 0);
    CLIENT_CHECK(elements_of(view) == static_cast<int>(particles.size()));
    File file(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    check(MPI_File_set_view(file.get(), 0, packed.get(), view.get(), "native", MPI_INFO_NULL),
          "set_view");
    MPI_Status status;
    check(MPI_File_write_all(file.get(), particles.data(), static_cast<int>(particles.size()),
                             memory.get(), &status),
          "write_all");
    int count = 0;
    MPI_Get_count(&status, memory.get(), &count);
    CLIENT_CHECK(count == static_cast<int>(particles.size()));
    client_note_strategy(file.get());
}

void read_cyclically(std::string const& path, Type const& memory, Type const& packed) {
    constexpr int block = 3;
    auto const view = decomposition(MPI_DISTRIBUTE_CYCLIC, block, packed);
    auto const expected = expected_particles(block, block);
    CLIENT_CHECK(elements_of(view) == static_cast<int>(expected.size()));
    std::vector<Particle> particles(expected.size());
    File file(MPI_COMM_WORLD, path, MPI_MODE_RDONLY);
    check(MPI_File_set_view(file.get(), 0, packed.get(), view.get(), "native", MPI_INFO_NULL),
          "set_view");
    check(MPI_File_read_all(file.get(), particles.data(), static_cast<int>(particles.size()),
                            memory.get(), MPI_STATUS_IGNORE),
          "read_all");
    CLIENT_CHECK(particles == expected);
}

// Half of the ranks each open a file of their own communicator while the others open another.
void write_by_halves(std::string const& path) {
    int rank = 0, rank_in_half = 0, ranks_in_half = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_rank(half, &rank_in_half);
    MPI_Comm_size(half, &ranks_in_half);
    {
        File file(half, path + (rank % 2 ? ".odd" : ".even"),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
        std::vector<int> mine(1000, rank), all(1000 * ranks_in_half, -1);
        check(MPI_File_write_at_all(file.get(), rank_in_half * 4000, mine.data(), 1000, MPI_INT,
                                    MPI_STATUS_IGNORE),
              "write_at_all");
        check(MPI_File_sync(file.get()), "sync");
        MPI_Barrier(half);
        check(MPI_File_read_at_all(file.get(), 0, all.data(), static_cast<int>(all.size()), MPI_INT,
                                   MPI_STATUS_IGNORE),
              "read_at_all");
        for (int i = 0; i < static_cast<int>(all.size()); ++i)
            CLIENT_CHECK(all[i] == i / 1000 * 2 + rank % 2);
    }
    MPI_Comm_free(&half);
}

void opening_nothing_is_an_error(std::string const& path) {
    try {
        File const file(MPI_COMM_WORLD, path + ".absent", MPI_MODE_RDONLY);
        CLIENT_CHECK(false);
    } catch (std::runtime_error const&) {
        // as it should be: an exception crosses our frames only, no MPI frame is unwound
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    CLIENT_REQUIRE(argc == 2);
    std::string const path = argv[1];
    {
        auto const memory = particle_in_memory(), packed = particle_in_file();
        write_in_blocks(path, memory, packed);
        read_cyclically(path, memory, packed);
    }
    write_by_halves(path);
    opening_nothing_is_an_error(path);
    int const verdict = client_verdict();
    MPI_Finalize();
    return verdict;
}
