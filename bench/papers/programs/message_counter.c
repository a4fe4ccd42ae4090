// Test equipment: adds up what a process sends in MPI_File_set_view, MPI_File_write_all and
// MPI_File_read_all, within the MPI library or Unisono, and counts the collective calls there.
// Preload it before all else. What a process hands to MPI_Isend is lists of offsets and views, or
// something else: MPICH's ROMIO sends lists as MPI_OFFSET, Unisono sends views with a tag of their
// own, MESSAGE_COUNTER_LIST_TAG (Team::Kind::view). At the end one line "list_bytes other_bytes
// sends collective_calls" goes to the file that MESSAGE_COUNTER_FILE names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int within_io;  // how many of its calls are under way
static atomic_llong list_bytes;
static atomic_llong other_bytes;
static atomic_llong sends;
static atomic_llong collective_calls;

static int is_list(MPI_Datatype type, int tag) {
    char const* list_tag = getenv("MESSAGE_COUNTER_LIST_TAG");
    if (list_tag != NULL) return tag == atoi(list_tag);
    return type == MPI_OFFSET || type == MPI_LONG_LONG_INT;
}

static void note_message(int count, MPI_Datatype type, int tag) {
    int size = 0;
    PMPI_Type_size(type, &size);
    ++sends;
    atomic_fetch_add(is_list(type, tag) ? &list_bytes : &other_bytes, (long long)count * size);
}

#define EXPORTED __attribute__((visibility("default")))
#define REAL(name, parameters)    \
    static int(*real) parameters; \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name)

#define IO(name, parameters, arguments)       \
    EXPORTED int MPI_File_##name parameters { \
        REAL(MPI_File_##name, parameters);    \
        ++within_io;                          \
        int const code = real arguments;      \
        --within_io;                          \
        return code;                          \
    }

#define COUNTED(name, parameters, arguments, take_note) \
    EXPORTED int PMPI_##name parameters {               \
        REAL(PMPI_##name, parameters);                  \
        if (within_io > 0) take_note;                   \
        return real arguments;                          \
    }

IO(set_view,
   (MPI_File file, MPI_Offset at, MPI_Datatype etype, MPI_Datatype filetype, char const* how,
    MPI_Info hints),
   (file, at, etype, filetype, how, hints))
IO(write_all, (MPI_File file, void const* data, int count, MPI_Datatype type, MPI_Status* status),
   (file, data, count, type, status))
IO(read_all, (MPI_File file, void* data, int count, MPI_Datatype type, MPI_Status* status),
   (file, data, count, type, status))

COUNTED(Isend,
        (void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group,
         MPI_Request* request),
        (data, count, type, to, tag, group, request), note_message(count, type, tag))
COUNTED(Issend,
        (void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group,
         MPI_Request* request),
        (data, count, type, to, tag, group, request), ++sends)
COUNTED(Send, (void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group),
        (data, count, type, to, tag, group), ++sends)

COUNTED(Barrier, (MPI_Comm group), (group), ++collective_calls)
COUNTED(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm group),
        (data, count, type, root, group), ++collective_calls)
COUNTED(Reduce,
        (void const* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
         MPI_Comm group),
        (in, out, count, type, op, root, group), ++collective_calls)
COUNTED(Allreduce,
        (void const* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm group),
        (in, out, count, type, op, group), ++collective_calls)
COUNTED(Iallreduce,
        (void const* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm group,
         MPI_Request* request),
        (in, out, count, type, op, group, request), ++collective_calls)
COUNTED(Gather,
        (void const* out, int sent, MPI_Datatype sent_type, void* in, int got,
         MPI_Datatype got_type, int root, MPI_Comm group),
        (out, sent, sent_type, in, got, got_type, root, group), ++collective_calls)
COUNTED(Gatherv,
        (void const* out, int sent, MPI_Datatype sent_type, void* in, int const* got, int const* at,
         MPI_Datatype got_type, int root, MPI_Comm group),
        (out, sent, sent_type, in, got, at, got_type, root, group), ++collective_calls)
COUNTED(Allgather,
        (void const* out, int sent, MPI_Datatype sent_type, void* in, int got,
         MPI_Datatype got_type, MPI_Comm group),
        (out, sent, sent_type, in, got, got_type, group), ++collective_calls)
COUNTED(Allgatherv,
        (void const* out, int sent, MPI_Datatype sent_type, void* in, int const* got, int const* at,
         MPI_Datatype got_type, MPI_Comm group),
        (out, sent, sent_type, in, got, at, got_type, group), ++collective_calls)
COUNTED(Alltoall,
        (void const* out, int sent, MPI_Datatype sent_type, void* in, int got,
         MPI_Datatype got_type, MPI_Comm group),
        (out, sent, sent_type, in, got, got_type, group), ++collective_calls)
COUNTED(Alltoallv,
        (void const* out, int const* sent, int const* from, MPI_Datatype sent_type, void* in,
         int const* got, int const* at, MPI_Datatype got_type, MPI_Comm group),
        (out, sent, from, sent_type, in, got, at, got_type, group), ++collective_calls)

__attribute__((destructor)) static void report(void) {
    char const* path = getenv("MESSAGE_COUNTER_FILE");
    if (path == NULL || sends + collective_calls == 0) return;
    int const file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    dprintf(file, "%lld %lld %lld %lld\n", (long long)list_bytes, (long long)other_bytes,
            (long long)sends, (long long)collective_calls);
    close(file);
}
