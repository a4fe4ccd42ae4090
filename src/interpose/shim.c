// The preloaded library: small, without libstdc++ or an MPI library behind it, so that it can be
// loaded into any process (shells, launchers, Python) and does nothing there until the first
// MPI_File call. Then it finds the process's MPI library and loads, from its own folder, the engine
// that fits that library.
//
// Both the MPI_ and the PMPI_ name of each entry point are exported, because Fortran bindings call
// either; the real one is the next PMPI_ name, so that other tools in the chain see the calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "entry_points.h"

#define EXPORT __attribute__((visibility("default")))

// What makes datatypes with a stride, or a given extent, as their third argument. No engine knows
// them.
#ifdef UNISONO_WATCHES_STRIDES
#define UNISONO_STRIDE_ENTRIES(X) \
    X(Type_vector, int)           \
    X(Type_hvector, long)         \
    X(Type_create_hvector, long)  \
    X(Type_create_resized, long)
#else
#define UNISONO_STRIDE_ENTRIES(X)
#endif
#define UNISONO_STRIDE_INDEX(name, stride) unisono_entry_##name,
enum {
    unisono_last_entry_of_engine = unisono_entry_count - 1,
    UNISONO_STRIDE_ENTRIES(UNISONO_STRIDE_INDEX) entry_count
};

static unisono_function native_functions[entry_count];
static unisono_function functions[entry_count];
static int is_over;  // MPI_Finalize has returned

#define UNISONO_STRIDE_NAME(name, stride) UNISONO_ENTRY_NAME(name)
static char const* const native_names[] = {UNISONO_ALL_ENTRIES(UNISONO_ENTRY_NAME)
                                               UNISONO_STRIDE_ENTRIES(UNISONO_STRIDE_NAME)};

// Which engine speaks the ABI of which MPI library. The standard ABI's library comes first: it may
// be a wrapper around one of the others.
static struct {
    char const* library;
    char const* engine;
} const known_libraries[] = {
    {"libmpi_abi.so.1", "abi"},
    {"libmpich.so.12", "mpich"},
    {"libmpi.so.12", "mpich"},
    {"libmpi.so.40", "openmpi"},
};
enum { known_library_count = sizeof known_libraries / sizeof *known_libraries };

// The MPI library that the program's calls reach.
struct mpi_library {
    void* handle;        // NULL: only the next library in the search order
    char const* name;    // NULL: there is none in this process
    char const* engine;  // NULL: none is known to fit
};

static void* next_open(void) { return dlsym(RTLD_NEXT, "PMPI_File_open"); }

// Cray's libraries have names of their own, and the number that MPICH's ABI initiative agreed on.
static char const* engine_by_version(char const* name) {
    size_t const length = strlen(name);
    return length > 6 && strcmp(name + length - 6, ".so.12") == 0 ? "mpich" : NULL;
}

static struct mpi_library unknown_library(void) {
    struct mpi_library library = {NULL, NULL, NULL};
    Dl_info info;
    void* symbol = next_open();
    if (symbol == NULL || dladdr(symbol, &info) == 0) return library;
    char const* slash = strrchr(info.dli_fname, '/');
    library.name = slash == NULL ? info.dli_fname : slash + 1;
    library.engine = engine_by_version(library.name);
    return library;
}

// A file of this name, of a longer version (libmpi.so.12.1), or of none (libmpi.so).
static int is_file_of(struct dl_phdr_info* object, size_t size, void* data) {
    (void)size;
    char const* library = *(char const**)data;
    char const* slash = strrchr(object->dlpi_name, '/');
    char const* file = slash == NULL ? object->dlpi_name : slash + 1;
    size_t const length = strlen(library);
    size_t const plain = length - strlen(strrchr(library, '.'));
    return strncmp(file, library, length) == 0 ||
           (strlen(file) == plain && strncmp(file, library, plain) == 0);
}

// Where several are loaded, the one that the program is linked with; it is linked with none where
// it loaded its MPI library locally, as Python does. dlopen() looks for what is not loaded in every
// folder, on all ranks: it is only asked about files of such names, or, `by_any_name`, always.
static struct mpi_library known_library(void* linked, int by_any_name) {
    struct mpi_library found = {NULL, NULL, NULL};
    for (int i = 0; i < known_library_count; ++i) {
        char const* library = known_libraries[i].library;
        if (!by_any_name && dl_iterate_phdr(is_file_of, &library) == 0) continue;
        void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
        if (handle == NULL) continue;
        if (found.name == NULL || dlsym(handle, "PMPI_File_open") == linked)
            found = (struct mpi_library){handle, library, known_libraries[i].engine};
        if (linked == NULL || dlsym(handle, "PMPI_File_open") == linked) break;
    }
    return found;
}

// Found without loading anything.
static struct mpi_library find_library(void) {
    void* const linked = next_open();
    struct mpi_library const found = known_library(linked, /*by_any_name=*/0);
    if (found.name != NULL) return found;
    struct mpi_library const unknown = unknown_library();
    if (unknown.engine != NULL) return unknown;
    struct mpi_library const renamed = known_library(linked, /*by_any_name=*/1);
    return renamed.name == NULL ? unknown : renamed;
}

// Where the program's MPI lacks MPI-4's large counts, and the program has found those of this
// library, as mpi4py's wheels do, the plain calls serve: a count that fits travels in the same
// register. They are the first of that name, which another MPI's preload library may have.
static int plain_calls_serve;

static void serve_by_plain_call(int entry) {
    char name[64];
    size_t const length = strlen(native_names[entry]) - strlen("_c");
    if (strcmp(native_names[entry] + length, "_c") != 0) return;
    snprintf(name, sizeof name, "%.*s", (int)(length - strlen("P")),
             native_names[entry] + strlen("P"));
    void* symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(&functions[entry], &symbol, sizeof symbol);
    plain_calls_serve = 1;
}

static void find_native(void* library) {
    for (int i = 0; i < entry_count; ++i) {
        void* symbol = dlsym(RTLD_NEXT, native_names[i]);
        if (symbol == NULL && library != NULL) symbol = dlsym(library, native_names[i]);
        memcpy(&native_functions[i], &symbol, sizeof symbol);
        functions[i] = native_functions[i];
        if (symbol == NULL) serve_by_plain_call(i);
    }
}

static int is_own(char const* entry, size_t length) {
    static char const own[] = "libunisono-";
    size_t begin = length;
    while (begin > 0 && entry[begin - 1] != '/') --begin;
    return length - begin >= sizeof own - 1 && strncmp(entry + begin, own, sizeof own - 1) == 0;
}

// As parse_boolean() of the engine, which complains of other words.
static int says_no(char const* variable) {
    static char const* const words[] = {"false", "disable", "disabled", "no", "off", "0"};
    static char const blanks[] = " \t\r\n";
    char const* word = secure_getenv(variable);
    if (word == NULL) return 0;
    word += strspn(word, blanks);
    size_t const length = strcspn(word, blanks);
    if (word[length + strspn(word + length, blanks)] != '\0') return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        if (strlen(words[i]) == length && strncasecmp(word, words[i], length) == 0) return 1;
    return 0;
}

// Where the user says so, children of an MPI program do not get what this one was given. Before
// main, while nobody else can look at the environment, and in place. Shells and the like, which may
// yet become the program, keep it.
__attribute__((constructor)) static void keep_from_children(void) {
    char* list = secure_getenv("LD_PRELOAD");
    if (!says_no("UNISONO_PRELOAD_CHILDREN") || list == NULL || next_open() == NULL) return;
    char* kept = list;
    for (char const* entry = list; *entry != '\0';) {
        size_t const length = strcspn(entry, ": ");
        size_t const whole = length + (entry[length] != '\0');
        if (!is_own(entry, length)) {
            memmove(kept, entry, whole);
            kept += whole;
        }
        entry += whole;
    }
    *kept = '\0';
}

// Where this library's name begins, if it is relative: the program may change its folder later.
static char* started_in;

__attribute__((constructor)) static void note_folder(void) {
    Dl_info self;
    if (dladdr((void const*)&native_names, &self) != 0 && self.dli_fname[0] != '/')
        started_in = getcwd(NULL, 0);
}

// Else the MPI library, or the program, opens something of that number, which must not get our
// lines.
static int standard_error;

__attribute__((constructor)) static void note_standard_error(void) {
    standard_error = fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

__attribute__((format(printf, 1, 2))) static void say(char const* format, ...) {
    va_list values;
    if (!standard_error) return;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
}

// For `unisono run --report`, which would otherwise not know why there is no report.
static void leave_mark(char const* name) {
    char const* folder = secure_getenv("UNISONO_REPORT_TRACES");
    char path[PATH_MAX];
    if (folder == NULL || folder[0] == '\0') return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int const descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0) close(descriptor);
}

// Ranks of one job have the same to say.
static int is_first_rank(void) {
    static char const* const variables[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                            "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) {
        char const* rank = secure_getenv(variables[i]);
        if (rank != NULL) return strcmp(rank, "0") == 0;
    }
    return 1;
}

// The first line of what the library says of itself; empty if it says nothing.
static void read_version(void* library, char* text, size_t room) {
    static char said[8192];  // MPI_MAX_LIBRARY_VERSION_STRING of MPICH, the longest
    int (*get_version)(char*, int*);
    int length = 0;
    void* symbol = dlsym(library == NULL ? RTLD_NEXT : library, "PMPI_Get_library_version");
    memcpy(&get_version, &symbol, sizeof symbol);
    text[0] = '\0';
    if (symbol == NULL || get_version(said, &length) != 0) return;
    snprintf(text, room, ", %.*s", (int)strcspn(said, "\n,"), said);
    for (char* at = text; *at != '\0'; ++at)
        if (*at == '\t') *at = ' ';
}

static void step_aside(struct mpi_library library, char const* why) {
    char version[128];
    leave_mark("other-mpi");
    if (!is_first_rank()) return;
    read_version(library.handle, version, sizeof version);
    say("unisono: %s (%s%s): the program runs without Unisono\n", why, library.name, version);
}

// NULL where that engine was not built, or cannot be loaded.
static void* load_engine(char const* name) {
    Dl_info self;
    char path[PATH_MAX];
    if (dladdr((void const*)&native_names, &self) == 0) return NULL;
    char const* slash = strrchr(self.dli_fname, '/');
    int const folder_length = slash == NULL ? 0 : (int)(slash - self.dli_fname + 1);
    snprintf(path, sizeof path, "%s%s%.*slibunisono-%s-engine.so",
             started_in == NULL ? "" : started_in, started_in == NULL ? "" : "/", folder_length,
             self.dli_fname, name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

#ifdef UNISONO_LARGE_COUNTS
static int const has_large_counts = 1;
#else
static int const has_large_counts = 0;
#endif

// Why this library cannot serve the program; NULL: it can. A call with large counts that does not
// come through Unisono would use a view and a file pointer that only Unisono knows.
static char const* unfit(struct mpi_library library) {
    static char const other[] =
        "libunisono-" UNISONO_MPI_NAME " was preloaded into a program of another MPI";
    if (library.engine == NULL) return "no engine of Unisono fits this program's MPI";
    void* handle = library.handle == NULL ? RTLD_NEXT : library.handle;
    int const offers_large_counts = dlsym(handle, "PMPI_File_write_all_c") != NULL;
    if (offers_large_counts == has_large_counts) return NULL;
    if (strcmp(library.engine, UNISONO_MPI_NAME) != 0) return other;
    return has_large_counts
               ? "this program's MPI lacks MPI-4's large counts"
               : "this program's MPI has large counts, which Unisono was built without";
}

// Whether the program has made a datatype whose stride or extent is negative.
#ifdef UNISONO_WATCHES_STRIDES
static int made_backwards;
static int const* const watched_backwards = &made_backwards;
#else
static int const* const watched_backwards = NULL;
#endif

// Whether the preload library for that MPI is here as well, as where a site preloads several.
static int has_other(char const* mpi) {
    char name[NAME_MAX];
    if (mpi == NULL || strcmp(mpi, UNISONO_MPI_NAME) == 0) return 0;
    snprintf(name, sizeof name, "libunisono-%s.so", mpi);
    return dlopen(name, RTLD_LAZY | RTLD_NOLOAD) != NULL;
}

static void start_engine(void* engine) {
    unisono_start_function engine_start;
    void* symbol = dlsym(engine, "unisono_start");
    memcpy(&engine_start, &symbol, sizeof symbol);
    unisono_function taken[unisono_entry_count];
    memcpy(taken, functions, sizeof taken);
    if (symbol != NULL && engine_start(native_names, unisono_entry_count, native_functions, taken,
                                       watched_backwards, standard_error) == 0)
        memcpy(functions, taken, sizeof taken);
}

static void start(void) {
    struct mpi_library library = find_library();
    find_native(library.handle);
    if (library.name == NULL || is_over) return;
    char const* why = unfit(library);
    if (why != NULL) {
        if (!has_other(library.engine)) step_aside(library, why);
        return;
    }
    // Its functions must be visible to the engine, also where the program loaded it locally.
    if (library.handle != NULL) dlopen(library.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    void* engine = load_engine(library.engine);
    if (engine != NULL) {
        start_engine(engine);
        return;
    }
    leave_mark("no-engine");
    say("unisono: cannot load its engine (%s): the program runs without Unisono\n", dlerror());
}

// A program has found a call here that its MPI lacks.
static void end_for_lack_of(char const* name) {
    struct mpi_library const library = find_library();
    if (library.engine == NULL || strcmp(library.engine, UNISONO_MPI_NAME) == 0)
        say("unisono: no MPI library in this process has %s\n", name);
    else
        say("unisono: the program's MPI (%s) lacks %s, which the program has found in "
            "libunisono-" UNISONO_MPI_NAME ": preload libunisono-%s.so instead\n",
            library.name, name, library.engine);
    signal(SIGABRT, SIG_DFL);  // Open MPI's handler would hide that line behind many
    abort();
}

// Of a call with large counts, by its 2nd to 4th arguments.
static void refuse_what_does_not_fit(int entry, long second, long third, long fourth) {
    char const* name = native_names[entry];
    if (strstr(name, "extent") != NULL) return;  // it has no count
    long const count = strstr(name, "_File_") == NULL ? second
                       : strstr(name, "_at") == NULL  ? third
                                                      : fourth;
    if (count > INT_MAX) end_for_lack_of(name);
}

enum Name { plain, profiling };  // MPI_ or PMPI_

static unisono_function function_of(int entry) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    if (functions[entry] == NULL) end_for_lack_of(native_names[entry]);
    return functions[entry];
}

static void* next_symbol(char const* name) {
    void* symbol = dlsym(RTLD_NEXT, name);
    void* library = symbol != NULL ? NULL : find_library().handle;
    return library == NULL ? symbol : dlsym(library, name);
}

// The next function of the name that was called, in whatever library or tool; NULL: none.
static unisono_function next_function(int entry, enum Name called) {
    unisono_function function = NULL;
    void* symbol = next_symbol(native_names[entry] + (called == plain ? strlen("P") : 0));
    memcpy(&function, &symbol, sizeof symbol);
    return function;
}

// Programs send messages and wait for requests all the time, most of them without ever opening a
// file: until the engine is there these calls go straight on, under the name that was called, as
// tools wrap either.
static unisono_function early_function_of(int entry, enum Name called) {
    static unisono_function known[entry_count][2];
    unisono_function* early = &known[entry][called];
    unisono_function function = __atomic_load_n(&functions[entry], __ATOMIC_ACQUIRE);
    if (function == NULL) function = __atomic_load_n(early, __ATOMIC_RELAXED);
    if (function != NULL) return function;
    function = next_function(entry, called);
    if (function == NULL) return function_of(entry);
    __atomic_store_n(early, function, __ATOMIC_RELAXED);
    return function;
}

static unisono_long_function early_long_function_of(int entry, enum Name called) {
    unisono_function const function = early_function_of(entry, called);
    unisono_long_function with_seven;
    memcpy(&with_seven, &function, sizeof function);
    return with_seven;
}

#define UNISONO_HAS_LARGE_COUNT(name) \
    (sizeof #name > 2 && #name[sizeof #name - 3] == '_' && #name[sizeof #name - 2] == 'c')
// Once the function is known.
#define UNISONO_REFUSE_WHAT_DOES_NOT_FIT(name, b, c, d)     \
    if (UNISONO_HAS_LARGE_COUNT(name) && plain_calls_serve) \
    refuse_what_does_not_fit(unisono_entry_##name, b, c, d)

#define UNISONO_EXPORT_AS(prefix, name, find, called)                          \
    EXPORT long prefix##name(long a, long b, long c, long d, long e, long f) { \
        unisono_function const function = find(unisono_entry_##name, called);  \
        UNISONO_REFUSE_WHAT_DOES_NOT_FIT(name, b, c, d);                       \
        return function(a, b, c, d, e, f);                                     \
    }
#define UNISONO_EXPORT(name, find)             \
    UNISONO_EXPORT_AS(MPI_, name, find, plain) \
    UNISONO_EXPORT_AS(PMPI_, name, find, profiling)
#define UNISONO_EXPORT_LONG_AS(prefix, name, called)                                   \
    EXPORT long prefix##name(long a, long b, long c, long d, long e, long f, long g) { \
        unisono_long_function const function =                                         \
            early_long_function_of(unisono_entry_##name, called);                      \
        UNISONO_REFUSE_WHAT_DOES_NOT_FIT(name, b, c, d);                               \
        return function(a, b, c, d, e, f, g);                                          \
    }
#define UNISONO_EXPORT_LONG_ENTRY(name)       \
    UNISONO_EXPORT_LONG_AS(MPI_, name, plain) \
    UNISONO_EXPORT_LONG_AS(PMPI_, name, profiling)
#define UNISONO_FILE_FUNCTION_OF(entry, called) function_of(entry)
#define UNISONO_EXPORT_FILE_ENTRY(name) UNISONO_EXPORT(name, UNISONO_FILE_FUNCTION_OF)
#define UNISONO_EXPORT_EARLY_ENTRY(name) UNISONO_EXPORT(name, early_function_of)
UNISONO_FILE_ENTRIES(UNISONO_EXPORT_FILE_ENTRY)
UNISONO_REQUEST_ENTRIES(UNISONO_EXPORT_EARLY_ENTRY)
UNISONO_MESSAGE_ENTRIES(UNISONO_EXPORT_EARLY_ENTRY)
UNISONO_LONG_MESSAGE_ENTRIES(UNISONO_EXPORT_LONG_ENTRY)

#define UNISONO_EXPORT_STRIDE(name, stride, prefix, called)                        \
    EXPORT long prefix##name(long a, long b, long c, long d, long e, long f) {     \
        if ((stride)c < 0) __atomic_store_n(&made_backwards, 1, __ATOMIC_RELAXED); \
        return early_function_of(unisono_entry_##name, called)(a, b, c, d, e, f);  \
    }
#define UNISONO_EXPORT_STRIDE_ENTRY(name, stride)    \
    UNISONO_EXPORT_STRIDE(name, stride, MPI_, plain) \
    UNISONO_EXPORT_STRIDE(name, stride, PMPI_, profiling)
UNISONO_STRIDE_ENTRIES(UNISONO_EXPORT_STRIDE_ENTRY)

// A program that calls on hears from the library which call it must not make, instead of what the
// engine would have called. Where there are sessions, files may be open still.
static void stop_engine(void) {
    if (next_symbol("PMPI_Session_init") != NULL) return;
    is_over = 1;
    for (int i = 0; i < entry_count; ++i)
        if (i != unisono_entry_Error_string) functions[i] = native_functions[i];
}

// The library's part begins outside the engine: callbacks of programs and tools may call anything.
static long finalize(enum Name called) {
    int const entry = unisono_entry_Finalize;
    unisono_function const before = __atomic_load_n(&functions[entry], __ATOMIC_ACQUIRE);
    if (before != NULL && before != native_functions[entry]) before(0, 0, 0, 0, 0, 0);
    long const result = next_function(entry, called)(0, 0, 0, 0, 0, 0);
    stop_engine();
    return result;
}
#define UNISONO_EXPORT_END_ENTRY(name)                       \
    EXPORT long MPI_##name(void) { return finalize(plain); } \
    EXPORT long PMPI_##name(void) { return finalize(profiling); }
UNISONO_END_ENTRIES(UNISONO_EXPORT_END_ENTRY)
