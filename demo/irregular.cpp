// The output of a climate model on an unstructured grid: each rank owns many short runs of cells
// that lie scattered through every variable, described once by an index list (hindexed) and used
// for one variable after the other.
#include <cstdint>
#include <vector>

#include "demo_support.h"

namespace {

constexpr int variables = 6;
constexpr std::uint64_t longest_run_cells = 8;  // runs of 1 to 8 doubles: 8 to 64 bytes

// This rank's runs of cells in one variable. Counted in cells of 8 bytes.
struct Decomposition {
    std::vector<int> lengths;
    std::vector<MPI_Aint> displacements_bytes;
    std::uint64_t my_cells = 0;
    std::uint64_t variable_cells = 0;  // of all ranks

    std::uint64_t variable_bytes() const { return variable_cells * 8; }
};

// The variable is a sequence of groups of `ranks` runs, of random lengths, one run per rank in an
// order that changes from group to group: disjoint, complete, and as interleaved as it can be.
Decomposition decompose(std::uint64_t runs_per_rank) {
    int ranks = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    Decomposition mine;
    for (std::uint64_t group = 0; group < runs_per_rank; ++group) {
        auto const first_owner = demo_value(group) >> 32;
        for (int member = 0; member < ranks; ++member) {
            auto const run = group * ranks + member;
            auto const cells = 1 + (demo_value(run ^ 0x5eed) >> 32) % longest_run_cells;
            if ((first_owner + member) % ranks == static_cast<std::uint64_t>(rank)) {
                mine.lengths.push_back(static_cast<int>(cells));
                mine.displacements_bytes.push_back(static_cast<MPI_Aint>(mine.variable_cells * 8));
                mine.my_cells += cells;
            }
            mine.variable_cells += cells;
        }
    }
    return mine;
}

MPI_Datatype make_view(Decomposition const& mine) {
    MPI_Datatype view;
    MPI_Type_create_hindexed(static_cast<int>(mine.lengths.size()), mine.lengths.data(),
                             mine.displacements_bytes.data(), MPI_UINT64_T, &view);
    MPI_Type_commit(&view);
    return view;
}

// Calls `visit(local cell, global cell)` for every cell that this rank owns of `variable`.
template <typename Visit>
void for_each_cell(Decomposition const& mine, int variable, Visit visit) {
    std::uint64_t here = 0;
    for (std::size_t run = 0; run < mine.lengths.size(); ++run) {
        auto const there =
            variable * mine.variable_cells + mine.displacements_bytes[run] / std::uint64_t{8};
        for (int i = 0; i < mine.lengths[run]; ++i) visit(here++, there + i);
    }
}

MPI_File open_file(char const* path, int mode) {
    MPI_File file;
    demo_check(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file), "MPI_File_open");
    return file;
}

void set_view(MPI_File file, Decomposition const& mine, MPI_Datatype view, int variable) {
    demo_check(MPI_File_set_view(file, variable * mine.variable_bytes(), MPI_UINT64_T, view,
                                 "native", MPI_INFO_NULL),
               "MPI_File_set_view");
}

void write_variables(Decomposition const& mine, MPI_Datatype view, char const* path,
                     demo_result& result) {
    std::vector<std::uint64_t> cells(mine.my_cells);
    auto start = demo_start();
    auto file = open_file(path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    result.write_whole_seconds += demo_seconds_since(start);
    for (int variable = 0; variable < variables; ++variable) {
        for_each_cell(mine, variable,
                      [&](auto here, auto there) { cells[here] = demo_value(there); });
        start = demo_start();
        set_view(file, mine, view, variable);
        MPI_Status status;
        demo_check(MPI_File_write_all(file, cells.data(), static_cast<int>(cells.size()),
                                      MPI_UINT64_T, &status),
                   "MPI_File_write_all");
        result.write_calls_seconds += demo_seconds_since(start);
        demo_check_bytes(&status, mine.my_cells * 8, "MPI_File_write_all");
    }
    demo_note_strategy(file, &result);
    start = demo_start();
    demo_check(MPI_File_close(&file), "MPI_File_close");
    result.write_whole_seconds += demo_seconds_since(start) + result.write_calls_seconds;
}

void read_variables(Decomposition const& mine, MPI_Datatype view, char const* path,
                    demo_result& result) {
    auto start = demo_start();
    auto file = open_file(path, MPI_MODE_RDONLY);
    result.read_whole_seconds += demo_seconds_since(start);
    for (int variable = 0; variable < variables; ++variable) {
        std::vector<std::uint64_t> cells(mine.my_cells);
        start = demo_start();
        set_view(file, mine, view, variable);
        MPI_Status status;
        demo_check(MPI_File_read_all(file, cells.data(), static_cast<int>(cells.size()),
                                     MPI_UINT64_T, &status),
                   "MPI_File_read_all");
        result.read_calls_seconds += demo_seconds_since(start);
        demo_check_bytes(&status, mine.my_cells * 8, "MPI_File_read_all");
        for_each_cell(mine, variable, [&](auto here, auto there) {
            if (cells[here] != demo_value(there)) ++result.wrong_values;
        });
    }
    demo_note_strategy(file, &result);
    start = demo_start();
    demo_check(MPI_File_close(&file), "MPI_File_close");
    result.read_whole_seconds += demo_seconds_since(start) + result.read_calls_seconds;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    demo_options options;
    demo_parse(argc, argv, "runs of 8 to 64 bytes that each rank owns per variable", 100'000,
               &options);

    auto const mine = decompose(options.size);
    auto view = make_view(mine);
    demo_result result{};
    result.bytes = 1.0 * variables * mine.variable_bytes();
    if (options.write) write_variables(mine, view, options.path, result);
    if (options.read) read_variables(mine, view, options.path, result);
    MPI_Type_free(&view);

    int const verdict = demo_finish("irregular", &options, &result);
    MPI_Finalize();
    return verdict;
}
