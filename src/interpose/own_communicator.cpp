#include "interpose/own_communicator.hpp"

namespace unisono::interpose {
namespace {

// MPI's type has the ellipsis. NOLINTNEXTLINE(cert-dcl50-cpp)
void end_program_unless_expected(MPI_Comm* own, int* code, ...) {
    if (ErrorsExpected::now()) return;
    PMPI_Comm_set_errhandler(*own, MPI_ERRORS_ARE_FATAL);
    PMPI_Comm_call_errhandler(*own, *code);
}

}  // namespace

void end_program_by_errors_on(MPI_Comm own) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    PMPI_Comm_create_errhandler(end_program_unless_expected, &handler);
    PMPI_Comm_set_errhandler(own, handler);
    PMPI_Errhandler_free(&handler);
}

void require_success(int code, MPI_Comm own) {
    if (code != MPI_SUCCESS) PMPI_Comm_call_errhandler(own, code);
}

}  // namespace unisono::interpose
