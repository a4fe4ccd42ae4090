#pragma once

#include <mpi.h>

namespace unisono::interpose {

// Messages of the program, while it has nonblocking file calls on their way whose messages have to
// be carried (MailCarrier): occasions to do so, and waits in which it goes on. Otherwise these are
// the MPI library's own functions, at the cost of a load.

int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status);
int Iprobe(int source, int tag, MPI_Comm comm, int* found, MPI_Status* status);

#define UNISONO_DECLARE_MESSAGES(SUFFIX, COUNT)                                                    \
    int Send##SUFFIX(void const* data, COUNT count, MPI_Datatype type, int to, int tag,            \
                     MPI_Comm comm);                                                               \
    int Ssend##SUFFIX(void const* data, COUNT count, MPI_Datatype type, int to, int tag,           \
                      MPI_Comm comm);                                                              \
    int Recv##SUFFIX(void* data, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, \
                     MPI_Status* status);                                                          \
    int Isend##SUFFIX(void const* data, COUNT count, MPI_Datatype type, int to, int tag,           \
                      MPI_Comm comm, MPI_Request* request);                                        \
    int Irecv##SUFFIX(void* data, COUNT count, MPI_Datatype type, int from, int tag,               \
                      MPI_Comm comm, MPI_Request* request);
UNISONO_DECLARE_MESSAGES(, int)
#ifdef UNISONO_LARGE_COUNTS
UNISONO_DECLARE_MESSAGES(_c, MPI_Count)
#endif
#undef UNISONO_DECLARE_MESSAGES

}  // namespace unisono::interpose
