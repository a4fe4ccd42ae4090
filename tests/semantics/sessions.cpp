// MPI sessions: a file on a communicator that comes from a session's group.
//   sessions --under native|unisono [--with-init|--after-finalize]
// Without --with-init there is no MPI_Init, hence no MPI_COMM_WORLD and no MPI_COMM_SELF; with
// --after-finalize there is no longer any.
// MPICH 4.0.2 refuses to open a file then ("MPI not initialized"): the program reports this test as
// skipped.

#include <cstdio>
#include <filesystem>

#include "files.hpp"
#include "harness.hpp"

#if MPI_VERSION < 4 && !(defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
int main() {
    printf("skipped: this MPI has no sessions\n");
    return 77;
}
#else

using namespace semantics;

namespace {

TEST(a_file_without_comm_world) {
    MPI_File file = open_file(context, context.path());
    for (int block : {24, 4096}) {
        DealtView const view(context, block, MPI_BYTE, 12);
        CHECK_MPI(view.set(file));
        Bytes const data = view.data(0, 20480);
        Bytes back(20480);
        MPI_Status status;
        CHECK_MPI(MPI_File_write_all(file, data.data(), 20480, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), 20480);
        CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 20480, MPI_BYTE, &status));
        check_bytes(back, data, "what was read");
    }
    CHECK_MPI(MPI_File_sync(file));
    close_file(file);
}

TEST(an_error_without_comm_world) {
    MPI_File file = open_file(context, context.path());
    int const value = 1;
    CHECK_FAILS(MPI_File_write_at_all(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_write_at_all(file, context.rank, &value, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
}

enum class Service { none, native, unisono };

// Who serves files on this communicator; none, if opening one is refused.
Service find_service(Context const& context) {
    MPI_File probe = MPI_FILE_NULL;
    int const code = MPI_File_open(context.comm, context.path("probe").c_str(),
                                   MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &probe);
    CHECK(same_on_all(context, code == MPI_SUCCESS));
    if (code != MPI_SUCCESS) {
        if (context.root()) printf("no file without MPI_Init: %s\n", error_text(code).c_str());
        return Service::none;
    }
    bool const unisono = !info_value(probe, "unisono_strategy").empty();
    close_file(probe);
    return unisono ? Service::unisono : Service::native;
}

int run(Context context, Service expected) {
    MPI_Comm_rank(context.comm, &context.rank);
    MPI_Comm_size(context.comm, &context.size);
    context.directory = make_directory(context);
    auto const service = find_service(context);
    context.unisono = service == Service::unisono;
    int code = exit_skipped;
    if (service != Service::none) code = run_tests(context, {});
    if (service != Service::none && service != expected) {
        fprintf(stderr, "sessions: Unisono is %sat work\n", context.unisono ? "" : "not ");
        code = 1;
    }
    if (context.root()) std::filesystem::remove_all(context.directory);
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    Context context;
    bool const with_init = has_word(argc, argv, "--with-init");
    bool const after_finalize = has_word(argc, argv, "--after-finalize");
    if (with_init || after_finalize) MPI_Init(&argc, &argv);
    if (after_finalize) MPI_Finalize();
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "unisono-semantics", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                               &context.comm);
    MPI_Group_free(&group);
    auto const expected = has_word(argc, argv, "unisono") ? Service::unisono : Service::native;
    int const code = run(context, expected);
    MPI_Comm_free(&context.comm);
    MPI_Session_finalize(&session);
    if (with_init) MPI_Finalize();
    return code;
}
#endif
