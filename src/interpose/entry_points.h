/* The entry points that Unisono takes over, as X macros: shared by the shim (C) and the engine.
   Everything else goes straight to the MPI library. MPI_Error_string is among them because MPICH
   4.0.2 answers with unrelated text for codes that were added to its own classes. */
#pragma once

/* What programs wait for nonblocking calls with, or let go of them. They and messages do not load
   the engine. */
#define UNISONO_REQUEST_ENTRIES(X) \
    X(Test)                        \
    X(Testall)                     \
    X(Testany)                     \
    X(Testsome)                    \
    X(Wait)                        \
    X(Waitall)                     \
    X(Waitany)                     \
    X(Waitsome)                    \
    X(Request_free)                \
    X(Request_get_status)          \
    UNISONO_REQUEST_ENTRIES_OF_MPI_4_1(X)
#ifdef UNISONO_REQUESTS_OF_MPI_4_1
#define UNISONO_REQUEST_ENTRIES_OF_MPI_4_1(X) \
    X(Request_get_status_all)                 \
    X(Request_get_status_any)                 \
    X(Request_get_status_some)
#else
#define UNISONO_REQUEST_ENTRIES_OF_MPI_4_1(X)
#endif

/* The engine does what has to be done before; the shim calls the library. */
#define UNISONO_END_ENTRIES(X) X(Finalize)

/* Common calls for messages: occasions to carry Unisono's own, where it has been asked to. */
#define UNISONO_MESSAGE_ENTRIES_OF(X, suffix) \
    X(Send##suffix)                           \
    X(Ssend##suffix)
/* With seven arguments. */
#define UNISONO_LONG_MESSAGE_ENTRIES_OF(X, suffix) \
    X(Recv##suffix)                                \
    X(Isend##suffix)                               \
    X(Irecv##suffix)
#define UNISONO_PROBE_ENTRIES(X) X(Probe) X(Iprobe)

#define UNISONO_ENTRIES(X)      \
    X(Error_string)             \
    X(File_open)                \
    X(File_close)               \
    X(File_set_view)            \
    X(File_get_view)            \
    X(File_get_type_extent)     \
    X(File_get_info)            \
    X(File_set_info)            \
    X(File_set_atomicity)       \
    X(File_set_size)            \
    X(File_get_size)            \
    X(File_sync)                \
    X(File_preallocate)         \
    X(File_seek)                \
    X(File_get_position)        \
    X(File_get_byte_offset)     \
    X(File_seek_shared)         \
    X(File_get_position_shared) \
    X(File_read_all_end)        \
    X(File_read_at_all_end)     \
    X(File_read_ordered_end)    \
    X(File_write_all_end)       \
    X(File_write_at_all_end)    \
    X(File_write_ordered_end)   \
    UNISONO_DATA_ENTRIES(X, )

/* Calls with a count; `suffix` is nothing, or _c for MPI-4's large counts. */
#define UNISONO_DATA_ENTRIES(X, suffix)      \
    UNISONO_DATA_ENTRIES_OF(X, read, suffix) \
    UNISONO_DATA_ENTRIES_OF(X, write, suffix)
#define UNISONO_DATA_ENTRIES_OF(X, direction, suffix) \
    X(File_##direction##suffix)                       \
    X(File_##direction##_all##suffix)                 \
    X(File_##direction##_at##suffix)                  \
    X(File_##direction##_at_all##suffix)              \
    X(File_i##direction##suffix)                      \
    X(File_i##direction##_all##suffix)                \
    X(File_i##direction##_at##suffix)                 \
    X(File_i##direction##_at_all##suffix)             \
    X(File_##direction##_shared##suffix)              \
    X(File_i##direction##_shared##suffix)             \
    X(File_##direction##_ordered##suffix)             \
    X(File_##direction##_all_begin##suffix)           \
    X(File_##direction##_at_all_begin##suffix)        \
    X(File_##direction##_ordered_begin##suffix)

#ifdef UNISONO_LARGE_COUNTS
#define UNISONO_FILE_ENTRIES(X) \
    UNISONO_ENTRIES(X) X(File_get_type_extent_c) UNISONO_DATA_ENTRIES(X, _c)
#define UNISONO_MESSAGE_ENTRIES(X) \
    UNISONO_PROBE_ENTRIES(X) UNISONO_MESSAGE_ENTRIES_OF(X, ) UNISONO_MESSAGE_ENTRIES_OF(X, _c)
#define UNISONO_LONG_MESSAGE_ENTRIES(X) \
    UNISONO_LONG_MESSAGE_ENTRIES_OF(X, ) UNISONO_LONG_MESSAGE_ENTRIES_OF(X, _c)
#else
#define UNISONO_FILE_ENTRIES(X) UNISONO_ENTRIES(X)
#define UNISONO_MESSAGE_ENTRIES(X) UNISONO_PROBE_ENTRIES(X) UNISONO_MESSAGE_ENTRIES_OF(X, )
#define UNISONO_LONG_MESSAGE_ENTRIES(X) UNISONO_LONG_MESSAGE_ENTRIES_OF(X, )
#endif
#define UNISONO_ALL_ENTRIES(X) \
    UNISONO_FILE_ENTRIES(X)    \
    UNISONO_REQUEST_ENTRIES(X) \
    UNISONO_MESSAGE_ENTRIES(X) \
    UNISONO_LONG_MESSAGE_ENTRIES(X) UNISONO_END_ENTRIES(X)

#define UNISONO_ENTRY_INDEX(name) unisono_entry_##name,
enum { UNISONO_ALL_ENTRIES(UNISONO_ENTRY_INDEX) unisono_entry_count };
#undef UNISONO_ENTRY_INDEX

#define UNISONO_ENTRY_NAME(name) "PMPI_" #name,

/* This is C, too. NOLINTBEGIN(modernize-use-using) */

/* Entry points take at most six arguments, each an integer or a pointer. In the calling
   conventions of 64-bit Unix all six travel in registers whatever their types, so the shim can
   pass on calls of any MPI without knowing its handle types. A seventh has a word of its own in all
   of them. */
typedef long (*unisono_function)(long, long, long, long, long, long);
typedef long (*unisono_long_function)(long, long, long, long, long, long, long);

/* The engine's only exported symbol: `native` are the functions to call on (null where the MPI
   library has none); replaces those in `taken` that Unisono does. Both have an entry for each of
   the `count` `names`: the shim may be of another MPI's ABI, or of the build before an upgrade,
   with other entry points. `made_backwards` stays valid: whether the program has made a datatype
   whose stride or extent is negative (null: nobody has looked). `standard_error`: whether the
   process began with one. Returns 0, or non-zero when Unisono has to stay out of this process.
   With other arguments it needs another name, which shims of earlier builds do not find. */
typedef int (*unisono_start_function)(char const* const* names, int count,
                                      unisono_function const* native, unisono_function* taken,
                                      int const* made_backwards, int standard_error);

/* NOLINTEND(modernize-use-using) */
