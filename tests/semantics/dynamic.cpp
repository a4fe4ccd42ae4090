// Dynamic processes: files on the parents' communicator, on the children's, and on the one that has
// both; none on the communicator between them.
//   dynamic --under native|unisono [--children-without]
// With --children-without Unisono is switched off in the children: the MPI library does the files
// of both sides then, and Unisono those of the parents alone.
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "files.hpp"
#include "harness.hpp"

using namespace semantics;

namespace {

constexpr int children = 2;

bool under_unisono_now(MPI_Comm comm, std::string const& path) {
    MPI_File probe = MPI_FILE_NULL;
    CHECK_MPI(
        MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &probe));
    bool const found = !info_value(probe, "unisono_strategy").empty();
    CHECK_MPI(MPI_File_close(&probe));
    return found;
}

// Ranks in turn, several calls, read back by the next one; all of it checked in the file.
void write_and_read(Context const& context, std::string const& name) {
    MPI_File file = open_file(context, context.path(name));
    DealtView const view(context, 40, MPI_BYTE, 7);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 4000);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_all(file, data.data(), 2000, MPI_BYTE, &status));
    CHECK_MPI(MPI_File_write_all(file, data.data() + 2000, 2000, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 2000);
    sync_on_all(context, file);
    DealtView const next((context.rank + 1) % context.size, context.size, 40, MPI_BYTE, 7);
    CHECK_MPI(next.set(file));
    Bytes back(4000);
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 4000, MPI_BYTE, &status));
    check_bytes(back, next.data(0, 4000), "the next rank's bytes");
    close_file(file);
    context.barrier();
}

// `preload`: what the child shall have, as the launcher may keep it to itself.
MPI_Comm spawn(char* program, std::string const& preload, bool with_unisono,
               std::string const& directory) {
    auto const setting = "LD_PRELOAD=" + preload;
    auto const switched = std::string{"UNISONO_DISABLE="} + (with_unisono ? "0" : "1");
    std::string words[] = {"--under", with_unisono ? "unisono" : "native", directory};
    char* const arguments[] = {const_cast<char*>(setting.c_str()),
                               const_cast<char*>(switched.c_str()),
                               program,
                               words[0].data(),
                               words[1].data(),
                               words[2].data(),
                               nullptr};
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int const code = MPI_Comm_spawn("/usr/bin/env", const_cast<char**>(arguments), children,
                                    MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return code == MPI_SUCCESS ? made : MPI_COMM_NULL;
}

Context context_on(MPI_Comm comm, Context context) {
    context.comm = comm;
    MPI_Comm_rank(comm, &context.rank);
    MPI_Comm_size(comm, &context.size);
    return context;
}

bool is_child = false, expects_unisono = false, expects_together = false;
MPI_Comm between = MPI_COMM_NULL;

char const* side() { return is_child ? "children" : "parents"; }

// The two sides run their tests at their own pace, and empty their folder after each.
Context in_folder_of_side(Context context) {
    context.directory += std::string{"/"} + side();
    if (context.root()) std::filesystem::create_directory(context.directory);
    context.barrier();
    return context;
}

TEST(files_of_one_side) {
    CHECK_EQUAL(under_unisono_now(context.comm, context.path("probe")), expects_unisono);
    write_and_read(context, side());
}

TEST(files_of_both_sides) {
    MPI_Comm both = MPI_COMM_NULL;
    CHECK_MPI(MPI_Intercomm_merge(between, is_child ? 1 : 0, &both));
    auto together = context_on(both, context);
    together.directory = std::filesystem::path{context.directory}.parent_path();
    CHECK_EQUAL(under_unisono_now(both, together.path("merged-probe")), expects_together);
    write_and_read(together, "merged");
    MPI_Comm_free(&both);
}

TEST(no_files_in_between) {
    an_intercommunicator_is_refused(between, context.path("between"));
    CHECK(!std::filesystem::exists(context.path("between")));
    write_and_read(context, side());
}

int run(Context context) {
    context.unisono = expects_unisono;
    return run_tests(context, {});
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&between);
    is_child = between != MPI_COMM_NULL;
    auto const under = has_word(argc, argv, "unisono");
    auto const without = has_word(argc, argv, "--children-without");
    expects_unisono = under;
    auto context = context_on(MPI_COMM_WORLD, {});
    char const* const preload = getenv("LD_PRELOAD");
    if (is_child) {
        context.directory = argv[argc - 1];
    } else {
        context.directory = make_directory(context);
        between =
            spawn(argv[0], preload == nullptr ? "" : preload, under && !without, context.directory);
    }
    if (between == MPI_COMM_NULL) {  // Debian's MPICH is made for Slurm's process manager
        if (context.root()) printf("skipped: this MPI cannot spawn processes\n");
        if (context.root()) std::filesystem::remove_all(context.directory);
        MPI_Finalize();
        return exit_skipped;
    }
    // Both sides say what they have.
    int mine = expects_unisono, theirs = 0;
    int const root = is_child ? 0 : context.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    int const other_root = is_child ? (context.rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_Bcast(root == 0 ? &theirs : &mine, 1, MPI_INT, root, between);
    MPI_Bcast(other_root == 0 ? &theirs : &mine, 1, MPI_INT, other_root, between);
    expects_together = mine != 0 && theirs != 0;
    int code = run(in_folder_of_side(context));
    // The parents' exit code is what the launcher hands on.
    int worst = 0;
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, between);
    code = std::max(code, worst);
    MPI_Comm_disconnect(&between);
    if (!is_child && context.root()) std::filesystem::remove_all(context.directory);
    MPI_Finalize();
    return code;
}
