#pragma once

#include <mpi.h>

#include <functional>

namespace unisono::interpose {

// What programs wait for requests with. Where none of Unisono's is on its way these are the MPI
// library's own functions, at the cost of a load. Otherwise they move Unisono's on while they wait,
// and tell how those went: by the error handler of the file, as MPI wants it for file access.

int Wait(MPI_Request* request, MPI_Status* status);
int Waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status);
int Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]);
int Test(MPI_Request* request, int* done, MPI_Status* status);
int Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]);
int Testany(int count, MPI_Request requests[], int* index, int* done, MPI_Status* status);
int Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]);
int Request_get_status(MPI_Request request, int* done, MPI_Status* status);
/// What a write has come to that nobody waits for is told at the next sync or close.
int Request_free(MPI_Request* request);
#ifdef UNISONO_REQUESTS_OF_MPI_4_1
template <class First, class Second, class... More>
Second second_argument_of(int (*)(First, Second, More...));
/// Of constant requests, but in MPICH 4.2.
using RequestsAsked = decltype(second_argument_of(&PMPI_Request_get_status_all));
int Request_get_status_all(int count, RequestsAsked requests, int* done, MPI_Status statuses[]);
int Request_get_status_any(int count, RequestsAsked requests, int* index, int* done,
                           MPI_Status* status);
int Request_get_status_some(int count, RequestsAsked requests, int* done, int indices[],
                            MPI_Status statuses[]);
#endif

/// A wait of the program for something else than requests of Unisono's, which go on meanwhile:
/// until `test` says that it is over, or fails.
int wait_beside(std::function<int(int* over)> const& test);

}  // namespace unisono::interpose
