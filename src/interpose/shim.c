// The preloaded library: small, without libstdc++ or an MPI library behind it, so that it can be
// loaded into any process (shells, launchers, Python) and does nothing there until the first
// MPI_File call. Then it finds the process's MPI library and loads the engine beside itself.
//
// Both the MPI_ and the PMPI_ name of each entry point are exported, because Fortran bindings call
// either; the real one is the next PMPI_ name, so that other tools in the chain see the calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "entry_points.h"

#define EXPORT __attribute__((visibility("default")))

static unisono_function native_functions[unisono_entry_count];
static unisono_function functions[unisono_entry_count];

#define UNISONO_ENTRY_NAME(name) "PMPI_" #name,
static char const* const native_names[] = {UNISONO_ALL_ENTRIES(UNISONO_ENTRY_NAME)};

// The libraries that carry this ABI, and those that carry others.
static char const* const own_libraries[] = {UNISONO_MPI_LIBRARIES, NULL};
static char const* const other_libraries[] = {UNISONO_OTHER_MPI_LIBRARIES, NULL};

// Found without loading anything; visible to the engine from then on, also where the program
// loaded its MPI library locally, as Python does.
static void* loaded_library(char const* const* names, char const** found) {
    for (; *names != NULL; ++names) {
        void* library = dlopen(*names, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
        *found = *names;
        if (library != NULL) return library;
    }
    return NULL;
}

static void find_native(void* library) {
    for (int i = 0; i < unisono_entry_count; ++i) {
        void* symbol = dlsym(RTLD_NEXT, native_names[i]);
        if (symbol == NULL && library != NULL) symbol = dlsym(library, native_names[i]);
        memcpy(&native_functions[i], &symbol, sizeof symbol);
        functions[i] = native_functions[i];
    }
}

// For `unisono run --report`, which would otherwise not know why there is no report.
static void leave_mark(char const* name) {
    char const* folder = secure_getenv("UNISONO_REPORT_TRACES");
    char path[PATH_MAX];
    if (folder == NULL || folder[0] == '\0') return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int const descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor >= 0) close(descriptor);
}

static void* load_engine(void) {
    Dl_info self;
    char path[PATH_MAX];
    if (dladdr((void const*)&native_names, &self) == 0) return NULL;
    char const* slash = strrchr(self.dli_fname, '/');
    int const folder_length = slash == NULL ? 0 : (int)(slash - self.dli_fname + 1);
    snprintf(path, sizeof path, "%.*slibunisono-" UNISONO_MPI_NAME "-engine.so", folder_length,
             self.dli_fname);
    void* engine = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (engine == NULL)
        fprintf(stderr, "unisono: cannot load its engine (%s): the program runs without Unisono\n",
                dlerror());
    return engine;
}

static void start(void) {
    char const* own = NULL;
    char const* other = NULL;
    void* library = loaded_library(own_libraries, &own);
    if (library == NULL) {
        void* foreign = loaded_library(other_libraries, &other);
        find_native(foreign);
        if (foreign == NULL) return;
        leave_mark("other-mpi");
        fprintf(stderr,
                "unisono: libunisono-" UNISONO_MPI_NAME
                " was preloaded into a program "
                "of another MPI (%s): the program runs without Unisono\n",
                other);
        return;
    }
    find_native(library);
    void* engine = load_engine();
    if (engine == NULL) {
        leave_mark("no-engine");
        return;
    }
    unisono_engine_start_function engine_start;
    void* symbol = dlsym(engine, "unisono_engine_start");
    memcpy(&engine_start, &symbol, sizeof symbol);
    unisono_function taken[unisono_entry_count];
    memcpy(taken, functions, sizeof taken);
    if (symbol != NULL && engine_start(native_functions, taken) == 0)
        memcpy(functions, taken, sizeof taken);
}

static long call(int entry, long a, long b, long c, long d, long e, long f) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    if (functions[entry] == NULL) {
        fprintf(stderr, "unisono: no MPI library in this process has %s\n", native_names[entry]);
        abort();
    }
    return functions[entry](a, b, c, d, e, f);
}

// Programs wait for requests all the time, most of them without ever opening a file: until the
// engine is there these calls go straight on.
static long call_early(int entry, long a, long b, long c, long d, long e, long f) {
    static unisono_function early[unisono_entry_count];
    unisono_function function = __atomic_load_n(&functions[entry], __ATOMIC_ACQUIRE);
    if (function == NULL) function = __atomic_load_n(&early[entry], __ATOMIC_RELAXED);
    if (function != NULL) return function(a, b, c, d, e, f);
    char const* name = NULL;
    void* symbol = dlsym(RTLD_NEXT, native_names[entry]);
    void* library = symbol != NULL ? NULL : loaded_library(own_libraries, &name);
    if (symbol == NULL && library == NULL) library = loaded_library(other_libraries, &name);
    if (library != NULL) symbol = dlsym(library, native_names[entry]);
    if (symbol == NULL) return call(entry, a, b, c, d, e, f);
    memcpy(&function, &symbol, sizeof symbol);
    __atomic_store_n(&early[entry], function, __ATOMIC_RELAXED);
    return function(a, b, c, d, e, f);
}

#define UNISONO_EXPORT(name, how)                                             \
    EXPORT long MPI_##name(long a, long b, long c, long d, long e, long f) {  \
        return how(unisono_entry_##name, a, b, c, d, e, f);                   \
    }                                                                         \
    EXPORT long PMPI_##name(long a, long b, long c, long d, long e, long f) { \
        return how(unisono_entry_##name, a, b, c, d, e, f);                   \
    }
#define UNISONO_EXPORT_FILE_ENTRY(name) UNISONO_EXPORT(name, call)
#define UNISONO_EXPORT_REQUEST_ENTRY(name) UNISONO_EXPORT(name, call_early)
UNISONO_FILE_ENTRIES(UNISONO_EXPORT_FILE_ENTRY)
UNISONO_REQUEST_ENTRIES(UNISONO_EXPORT_REQUEST_ENTRY)
