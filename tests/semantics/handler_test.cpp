// Error handlers: the default, inheritance from MPI_FILE_NULL, and one call per rank and error.
#include <stdlib.h>

#include <atomic>
#include <cstdio>

#include "files.hpp"
#include "suites.hpp"

namespace semantics {
namespace {

std::atomic<int> handler_calls{0};
std::atomic<int> handler_code{MPI_SUCCESS};

void count_call(MPI_File*, int* code, ...) {
    ++handler_calls;
    handler_code = *code;
}

MPI_Errhandler make_counting_handler() {
    handler_calls = 0;
    handler_code = MPI_SUCCESS;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_File_create_errhandler(count_call, &handler);
    return handler;
}

void files_return_errors_by_default(Context const& context) {
    MPI_File file = open_file(context, context.path());
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    CHECK_MPI(MPI_File_get_errhandler(file, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    CHECK_FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET));
    close_file(file);
}

void a_handler_on_file_null_sees_open_fail(Context const& context) {
    MPI_Errhandler handler = make_counting_handler();
    CHECK_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    MPI_File file = MPI_FILE_NULL;
    CHECK_FAILS(MPI_File_open(context.comm, context.path("missing").c_str(), MPI_MODE_RDONLY,
                              MPI_INFO_NULL, &file));
    CHECK_EQUAL(handler_calls.load(), 1);
    CHECK_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    MPI_Errhandler_free(&handler);
}

void files_inherit_the_handler_of_file_null(Context const& context) {
    CHECK_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL));
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    CHECK_MPI(MPI_File_get_errhandler(file, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    CHECK_MPI(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
    CHECK_FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET));
    close_file(file);
}

void a_wrong_argument_calls_the_handler_once(Context const& context) {
    MPI_File file = open_file(context, context.path());
    MPI_Errhandler handler = make_counting_handler();
    CHECK_MPI(MPI_File_set_errhandler(file, handler));
    int value = 0;
    int const code = MPI_File_write_at_all(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS);
    CHECK_EQUAL(handler_calls.load(), 1);
    CHECK_EQUAL(error_class(handler_code), error_class(code));
    CHECK_MPI(MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(handler_calls.load(), 1);
    MPI_Errhandler_free(&handler);
    close_file(file);
}

MPI_File open_with_fault(Context const& context, std::string const& fault) {
    MPI_Info hints = make_info({{"unisono_faults", fault}});
    MPI_File file = open_file(context, context.path(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    MPI_Info_free(&hints);
    return file;
}

void a_failed_access_calls_the_handler_once_on_each_rank(Context const& context) {
    MPI_File file = open_with_fault(context, "write@100=EIO");
    MPI_Errhandler handler = make_counting_handler();
    CHECK_MPI(MPI_File_set_errhandler(file, handler));
    DealtView const view(context, 40);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 4000);
    int const code = MPI_File_write_all(file, data.data(), 4000, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK_EQUAL(error_class(code), MPI_ERR_IO);
    CHECK_EQUAL(handler_calls.load(), 1);
    CHECK_EQUAL(handler_code.load(), code);
    MPI_Errhandler_free(&handler);
    close_file(file);
}

void a_failed_independent_access_calls_the_handler_of_its_rank_only(Context const& context) {
    MPI_File file = open_with_fault(context, "write@100=EIO");
    MPI_Errhandler handler = make_counting_handler();
    CHECK_MPI(MPI_File_set_errhandler(file, handler));
    // A collective call first: the file is in Unisono's hands.
    std::uint8_t const byte = 1;
    CHECK_MPI(MPI_File_write_at_all(file, context.rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    bool const hit = context.rank == context.size - 1;
    int const code = MPI_File_write_at(file, hit ? 100 : 50, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK_EQUAL(error_class(code), hit ? MPI_ERR_IO : MPI_SUCCESS);
    CHECK_EQUAL(handler_calls.load(), hit ? 1 : 0);
    MPI_Errhandler_free(&handler);
    close_file(file);
}

// For the launch that must end in an abort: see CMakeLists.txt.
void fatal_handler_ends_the_program(Context const& context) {
    if (getenv("UNISONO_TEST_ABORT") == nullptr) return skip("only with UNISONO_TEST_ABORT=1");
    CHECK_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL));
    MPI_File file = context.unisono ? open_with_fault(context, "write@100=EIO")
                                    : open_file(context, context.path());
    context.barrier();
    if (context.root()) {
        printf("about to fail\n");
        fflush(stdout);
    }
    context.barrier();
    Bytes const data(1000, 1);
    MPI_File_write_at_all(file, 0, data.data(), context.unisono ? 1000 : -1, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    printf("survived\n");
    fflush(stdout);
}

}  // namespace

std::span<Test const> handler_tests() {
    constexpr char const* injected = "faults are injected by Unisono";
    static Test const tests[] = {
        {"files_return_errors_by_default", files_return_errors_by_default},
        {"a_handler_on_file_null_sees_open_fail", a_handler_on_file_null_sees_open_fail},
        {"files_inherit_the_handler_of_file_null", files_inherit_the_handler_of_file_null},
        {"a_wrong_argument_calls_the_handler_once", a_wrong_argument_calls_the_handler_once},
        {"a_failed_access_calls_the_handler_once_on_each_rank",
         a_failed_access_calls_the_handler_once_on_each_rank, under_unisono, injected},
        {"a_failed_independent_access_calls_the_handler_of_its_rank_only",
         a_failed_independent_access_calls_the_handler_of_its_rank_only, under_unisono, injected},
        {"fatal_handler_ends_the_program", fatal_handler_ends_the_program},
    };
    return tests;
}

}  // namespace semantics
