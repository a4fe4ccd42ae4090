/* To be preloaded: wraps MPI-IO and the C library's file calls as Darshan 3 does (MPI_ and PMPI_
   names of each call, the next one found by dlsym), counts them, and at MPI_Finalize writes its log
   by MPI-IO, as Darshan does: the file that COUNTING_TOOL_LOG names, a line for each rank. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { line_bytes = 128 };

static struct { uint64_t opens, closes, collective, written, read, messages, splits; } counts;

static void* next(char const* name) {
    void* symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL) {
        fprintf(stderr, "counting tool: no %s\n", name);
        exit(1);
    }
    return symbol;
}
#define CALL_NEXT(name, ...) ((__typeof__(&(name)))next(#name))(__VA_ARGS__)

/* The P name is an alias, so that no call runs in circles. */
#define WRAP(type, name, arguments)                              \
    EXPORT type P##name arguments __attribute__((alias(#name))); \
    EXPORT type name arguments

WRAP(int, MPI_File_open,
     (MPI_Comm comm, char const* path, int mode, MPI_Info info, MPI_File* file)) {
    ++counts.opens;
    return CALL_NEXT(MPI_File_open, comm, path, mode, info, file);
}
WRAP(int, MPI_File_close, (MPI_File * file)) {
    ++counts.closes;
    return CALL_NEXT(MPI_File_close, file);
}
WRAP(int, MPI_File_write_all,
     (MPI_File file, void const* data, int count, MPI_Datatype type, MPI_Status* status)) {
    ++counts.collective;
    return CALL_NEXT(MPI_File_write_all, file, data, count, type, status);
}
WRAP(int, MPI_File_read_all,
     (MPI_File file, void* data, int count, MPI_Datatype type, MPI_Status* status)) {
    ++counts.collective;
    return CALL_NEXT(MPI_File_read_all, file, data, count, type, status);
}
WRAP(int, MPI_File_write_at_all,
     (MPI_File file, MPI_Offset offset, void const* data, int count, MPI_Datatype type,
      MPI_Status* status)) {
    ++counts.collective;
    return CALL_NEXT(MPI_File_write_at_all, file, offset, data, count, type, status);
}

WRAP(int, MPI_Isend,
     (void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
      MPI_Request* request)) {
    ++counts.messages;
    return CALL_NEXT(MPI_Isend, data, count, type, to, tag, comm, request);
}

/* Not what an MPI library splits for itself. */
EXPORT int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    ++counts.splits;
    return CALL_NEXT(PMPI_Comm_split, comm, color, key, made);
}

/* For a program that asks. */
EXPORT uint64_t counting_tool_messages(void) { return counts.messages; }
EXPORT uint64_t counting_tool_written(void) {
    return __atomic_load_n(&counts.written, __ATOMIC_RELAXED);
}

static ssize_t add(uint64_t* bytes, ssize_t moved) {
    if (moved > 0) __atomic_fetch_add(bytes, (uint64_t)moved, __ATOMIC_RELAXED);
    return moved;
}
#define POSIX_WRAP(name, counter, arguments, ...) \
    EXPORT ssize_t name arguments { return add(&counts.counter, CALL_NEXT(name, __VA_ARGS__)); }
POSIX_WRAP(pwrite, written, (int fd, void const* data, size_t bytes, off_t offset), fd, data, bytes,
           offset)
POSIX_WRAP(pread, read, (int fd, void* data, size_t bytes, off_t offset), fd, data, bytes, offset)
POSIX_WRAP(pwrite64, written, (int fd, void const* data, size_t bytes, off64_t offset), fd, data,
           bytes, offset)
POSIX_WRAP(pread64, read, (int fd, void* data, size_t bytes, off64_t offset), fd, data, bytes,
           offset)
POSIX_WRAP(pwritev, written, (int fd, struct iovec const* list, int count, off_t offset), fd, list,
           count, offset)
POSIX_WRAP(preadv, read, (int fd, struct iovec const* list, int count, off_t offset), fd, list,
           count, offset)
POSIX_WRAP(pwritev64, written, (int fd, struct iovec const* list, int count, off64_t offset), fd,
           list, count, offset)
POSIX_WRAP(preadv64, read, (int fd, struct iovec const* list, int count, off64_t offset), fd, list,
           count, offset)

static void write_log(char const* path) {
    char line[line_bytes + 1];
    int rank = 0;
    MPI_File log;
    int const length =
        snprintf(line, sizeof line,
                 "opens=%ju closes=%ju collective=%ju written=%ju read=%ju messages=%ju splits=%ju",
                 (uintmax_t)counts.opens, (uintmax_t)counts.closes, (uintmax_t)counts.collective,
                 (uintmax_t)counts.written, (uintmax_t)counts.read, (uintmax_t)counts.messages,
                 (uintmax_t)counts.splits);
    memset(line + length, ' ', line_bytes - (size_t)length);
    line[line_bytes - 1] = '\n';
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &log);
    PMPI_File_write_at_all(log, (MPI_Offset)rank * line_bytes, line, line_bytes, MPI_BYTE,
                           MPI_STATUS_IGNORE);
    PMPI_File_close(&log);
}

WRAP(int, MPI_Finalize, (void)) {
    char const* path = getenv("COUNTING_TOOL_LOG");
    if (path != NULL) write_log(path);
    return CALL_NEXT(MPI_Finalize);
}
