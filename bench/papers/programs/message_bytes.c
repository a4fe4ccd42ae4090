// Test equipment: adds up what a process hands to MPI_Isend within the MPI library or Unisono,
// lists of offsets and views apart from all else. Preload it. At the end one line "list_bytes
// other_bytes" goes to the file that MESSAGE_BYTES_FILE names. For MPICH, whose ROMIO sends lists
// as MPI_OFFSET; Unisono sends views with a tag of their own, MESSAGE_BYTES_LIST_TAG
// (Team::Kind::view).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_llong list_bytes;
static atomic_llong other_bytes;

static int is_list(MPI_Datatype type, int tag) {
    char const* list_tag = getenv("MESSAGE_BYTES_LIST_TAG");
    if (list_tag != NULL) return tag == atoi(list_tag);
    return type == MPI_OFFSET || type == MPI_LONG_LONG_INT;
}

__attribute__((visibility("default"))) int PMPI_Isend(void const* data, int count,
                                                      MPI_Datatype type, int to, int tag,
                                                      MPI_Comm group, MPI_Request* request) {
    static int (*real)(void const*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "PMPI_Isend");
    int size = 0;
    PMPI_Type_size(type, &size);
    atomic_fetch_add(is_list(type, tag) ? &list_bytes : &other_bytes, (long long)count * size);
    return real(data, count, type, to, tag, group, request);
}

__attribute__((destructor)) static void report(void) {
    char const* path = getenv("MESSAGE_BYTES_FILE");
    if (path == NULL || list_bytes + other_bytes == 0) return;
    int const file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    dprintf(file, "%lld %lld\n", (long long)list_bytes, (long long)other_bytes);
    close(file);
}
