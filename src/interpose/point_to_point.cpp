#include "interpose/point_to_point.hpp"

#include "interpose/guard.hpp"
#include "interpose/mail_carrier.hpp"
#include "interpose/native.hpp"
#include "interpose/requests.hpp"

namespace unisono::interpose {
namespace {

// Where the program itself calls; MPI libraries send messages by these names, too.
bool carries() { return MailCarrier::any() && CallDepth::is_programs(); }

int wait_beside_for(int begun, MPI_Request& request, MPI_Status* status) {
    if (begun != MPI_SUCCESS) return begun;
    return wait_beside([&](int* over) { return UNISONO_NATIVE(Test)(&request, over, status); });
}

}  // namespace

int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
    if (!carries()) return UNISONO_NATIVE(Probe)(source, tag, comm, status);
    return wait_beside(
        [&](int* over) { return UNISONO_NATIVE(Iprobe)(source, tag, comm, over, status); });
}

int Iprobe(int source, int tag, MPI_Comm comm, int* found, MPI_Status* status) {
    return UNISONO_NATIVE(Iprobe)(source, tag, comm, found, status);
}

// A synchronous one's receiver has begun when it is over, as MPI wants it; another one may be over
// later than MPI's own, which is as good.
#define UNISONO_MESSAGES(SUFFIX, COUNT, ISSEND)                                                    \
    int Send##SUFFIX(void const* data, COUNT count, MPI_Datatype type, int to, int tag,            \
                     MPI_Comm comm) {                                                              \
        if (!carries()) return UNISONO_NATIVE(Send##SUFFIX)(data, count, type, to, tag, comm);     \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        return wait_beside_for(                                                                    \
            UNISONO_NATIVE(Isend##SUFFIX)(data, count, type, to, tag, comm, &request), request,    \
            MPI_STATUS_IGNORE);                                                                    \
    }                                                                                              \
    int Ssend##SUFFIX(void const* data, COUNT count, MPI_Datatype type, int to, int tag,           \
                      MPI_Comm comm) {                                                             \
        if (!carries()) return UNISONO_NATIVE(Ssend##SUFFIX)(data, count, type, to, tag, comm);    \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        return wait_beside_for(ISSEND(data, count, type, to, tag, comm, &request), request,        \
                               MPI_STATUS_IGNORE);                                                 \
    }                                                                                              \
    int Recv##SUFFIX(void* data, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, \
                     MPI_Status* status) {                                                         \
        if (!carries())                                                                            \
            return UNISONO_NATIVE(Recv##SUFFIX)(data, count, type, from, tag, comm, status);       \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        return wait_beside_for(                                                                    \
            UNISONO_NATIVE(Irecv##SUFFIX)(data, count, type, from, tag, comm, &request), request,  \
            status);                                                                               \
    }                                                                                              \
    int Isend##SUFFIX(void const* data, COUNT count, MPI_Datatype type, int to, int tag,           \
                      MPI_Comm comm, MPI_Request* request) {                                       \
        return UNISONO_NATIVE(Isend##SUFFIX)(data, count, type, to, tag, comm, request);           \
    }                                                                                              \
    int Irecv##SUFFIX(void* data, COUNT count, MPI_Datatype type, int from, int tag,               \
                      MPI_Comm comm, MPI_Request* request) {                                       \
        return UNISONO_NATIVE(Irecv##SUFFIX)(data, count, type, from, tag, comm, request);         \
    }
UNISONO_MESSAGES(, int, PMPI_Issend)
#ifdef UNISONO_LARGE_COUNTS
UNISONO_MESSAGES(_c, MPI_Count, PMPI_Issend_c)
#endif
#undef UNISONO_MESSAGES

}  // namespace unisono::interpose
