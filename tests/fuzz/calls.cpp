#include "calls.hpp"

#include <cstddef>

namespace fuzz {

namespace {

/// The same call for reading and writing, collective or not, at an offset or at the pointer.
template <class WithOffset, class WithPointer>
struct Family {
    WithOffset write_at, write_at_all, read_at, read_at_all;
    WithPointer write, write_all, read, read_all;

    [[nodiscard]] WithOffset with_offset(Access const& access) const {
        if (access.writes) return access.collective ? write_at_all : write_at;
        return access.collective ? read_at_all : read_at;
    }
    [[nodiscard]] WithPointer with_pointer(Access const& access) const {
        if (access.writes) return access.collective ? write_all : write;
        return access.collective ? read_all : read;
    }
};

template <class WithOffset, class WithPointer, class Count, class Last>
int call_one(Family<WithOffset, WithPointer> const& family, MPI_File file, Access const& access,
             void* buffer, MPI_Datatype type, Last* last) {
    auto const offset = static_cast<MPI_Offset>(access.offset);
    auto const count = static_cast<Count>(access.count);
    if (access.at_offset) {
        return family.with_offset(access)(file, offset, buffer, count, type, last);
    }
    return family.with_pointer(access)(file, buffer, count, type, last);
}

// MPI declares the buffers of writes const, those of reads not: lambdas give them one type.
#define FUZZ_WRAP_AT(name, Count, Last)                                                \
    [](MPI_File file, MPI_Offset offset, void* buffer, Count count, MPI_Datatype type, \
       Last* last) { return name(file, offset, buffer, count, type, last); }
#define FUZZ_WRAP(name, Count, Last)                                              \
    [](MPI_File file, void* buffer, Count count, MPI_Datatype type, Last* last) { \
        return name(file, buffer, count, type, last);                             \
    }
#define FUZZ_FAMILY(prefix, suffix, Count, Last)                                \
    {                                                                           \
        FUZZ_WRAP_AT(MPI_File_##prefix##write_at##suffix, Count, Last),         \
            FUZZ_WRAP_AT(MPI_File_##prefix##write_at_all##suffix, Count, Last), \
            FUZZ_WRAP_AT(MPI_File_##prefix##read_at##suffix, Count, Last),      \
            FUZZ_WRAP_AT(MPI_File_##prefix##read_at_all##suffix, Count, Last),  \
            FUZZ_WRAP(MPI_File_##prefix##write##suffix, Count, Last),           \
            FUZZ_WRAP(MPI_File_##prefix##write_all##suffix, Count, Last),       \
            FUZZ_WRAP(MPI_File_##prefix##read##suffix, Count, Last),            \
            FUZZ_WRAP(MPI_File_##prefix##read_all##suffix, Count, Last)         \
    }

template <class Count, class Last>
using FamilyOf = Family<int (*)(MPI_File, MPI_Offset, void*, Count, MPI_Datatype, Last*),
                        int (*)(MPI_File, void*, Count, MPI_Datatype, Last*)>;

template <class Count, class Last>
int call_family(FamilyOf<Count, Last> const& family, MPI_File file, Access const& access,
                void* buffer, MPI_Datatype type, Last* last) {
    return call_one<decltype(family.write_at), decltype(family.write), Count, Last>(
        family, file, access, buffer, type, last);
}

int call_blocking(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                  MPI_Status* status) {
#if MPI_VERSION >= 4
    if (access.large_count) {
        FamilyOf<MPI_Count, MPI_Status> const large = FUZZ_FAMILY(, _c, MPI_Count, MPI_Status);
        return call_family<MPI_Count>(large, file, access, buffer, type, status);
    }
#endif
    FamilyOf<int, MPI_Status> const plain = FUZZ_FAMILY(, , int, MPI_Status);
    return call_family<int>(plain, file, access, buffer, type, status);
}

/// Nothing was moved that anybody could know of.
int nothing_begun(int code, MPI_Status* status) {
    if (status != MPI_STATUS_IGNORE) MPI_Status_set_elements(status, MPI_BYTE, 0);
    return code;
}

int begin_nonblocking(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                      MPI_Request* request) {
#if MPI_VERSION >= 4
    if (access.large_count) {
        FamilyOf<MPI_Count, MPI_Request> const large = FUZZ_FAMILY(i, _c, MPI_Count, MPI_Request);
        return call_family<MPI_Count>(large, file, access, buffer, type, request);
    }
#endif
    FamilyOf<int, MPI_Request> const plain = FUZZ_FAMILY(i, , int, MPI_Request);
    return call_family<int>(plain, file, access, buffer, type, request);
}

int call_nonblocking(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                     MPI_Status* status) {
    MPI_Request request = MPI_REQUEST_NULL;
    int const code = begin_nonblocking(file, access, buffer, type, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, status) : nothing_begun(code, status);
}

#if MPI_VERSION >= 4
int begin_large_split(MPI_File file, Access const& access, void* buffer, MPI_Datatype type) {
    auto const offset = static_cast<MPI_Offset>(access.offset);
    auto const count = static_cast<MPI_Count>(access.count);
    if (access.writes)
        return access.at_offset ? MPI_File_write_at_all_begin_c(file, offset, buffer, count, type)
                                : MPI_File_write_all_begin_c(file, buffer, count, type);
    return access.at_offset ? MPI_File_read_at_all_begin_c(file, offset, buffer, count, type)
                            : MPI_File_read_all_begin_c(file, buffer, count, type);
}
#endif

int begin_split(MPI_File file, Access const& access, void* buffer, MPI_Datatype type) {
#if MPI_VERSION >= 4
    if (access.large_count) return begin_large_split(file, access, buffer, type);
#endif
    auto const offset = static_cast<MPI_Offset>(access.offset);
    auto const count = static_cast<int>(access.count);
    if (access.writes)
        return access.at_offset ? MPI_File_write_at_all_begin(file, offset, buffer, count, type)
                                : MPI_File_write_all_begin(file, buffer, count, type);
    return access.at_offset ? MPI_File_read_at_all_begin(file, offset, buffer, count, type)
                            : MPI_File_read_all_begin(file, buffer, count, type);
}

int call_split(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
               MPI_Status* status) {
    int const code = begin_split(file, access, buffer, type);
    return code == MPI_SUCCESS ? end_split(file, access, buffer, status)
                               : nothing_begun(code, status);
}

int begin_ordered(MPI_File file, Access const& access, void* buffer, MPI_Datatype type) {
#if MPI_VERSION >= 4
    auto const many = static_cast<MPI_Count>(access.count);
    if (access.large_count)
        return access.writes ? MPI_File_write_ordered_begin_c(file, buffer, many, type)
                             : MPI_File_read_ordered_begin_c(file, buffer, many, type);
#endif
    auto const count = static_cast<int>(access.count);
    return access.writes ? MPI_File_write_ordered_begin(file, buffer, count, type)
                         : MPI_File_read_ordered_begin(file, buffer, count, type);
}

int call_ordered(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                 MPI_Status* status) {
    if (access.flavour == Flavour::split) {
        int const code = begin_ordered(file, access, buffer, type);
        if (code != MPI_SUCCESS) return nothing_begun(code, status);
        return access.writes ? MPI_File_write_ordered_end(file, buffer, status)
                             : MPI_File_read_ordered_end(file, buffer, status);
    }
#if MPI_VERSION >= 4
    auto const many = static_cast<MPI_Count>(access.count);
    if (access.large_count)
        return access.writes ? MPI_File_write_ordered_c(file, buffer, many, type, status)
                             : MPI_File_read_ordered_c(file, buffer, many, type, status);
#endif
    auto const count = static_cast<int>(access.count);
    return access.writes ? MPI_File_write_ordered(file, buffer, count, type, status)
                         : MPI_File_read_ordered(file, buffer, count, type, status);
}

int begin_shared(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                 MPI_Request* request) {
#if MPI_VERSION >= 4
    auto const many = static_cast<MPI_Count>(access.count);
    if (access.large_count)
        return access.writes ? MPI_File_iwrite_shared_c(file, buffer, many, type, request)
                             : MPI_File_iread_shared_c(file, buffer, many, type, request);
#endif
    auto const count = static_cast<int>(access.count);
    return access.writes ? MPI_File_iwrite_shared(file, buffer, count, type, request)
                         : MPI_File_iread_shared(file, buffer, count, type, request);
}

int call_shared(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                MPI_Status* status) {
    if (access.flavour == Flavour::nonblocking) {
        MPI_Request request = MPI_REQUEST_NULL;
        int const code = begin_shared(file, access, buffer, type, &request);
        return code == MPI_SUCCESS ? MPI_Wait(&request, status) : nothing_begun(code, status);
    }
#if MPI_VERSION >= 4
    auto const many = static_cast<MPI_Count>(access.count);
    if (access.large_count)
        return access.writes ? MPI_File_write_shared_c(file, buffer, many, type, status)
                             : MPI_File_read_shared_c(file, buffer, many, type, status);
#endif
    auto const count = static_cast<int>(access.count);
    return access.writes ? MPI_File_write_shared(file, buffer, count, type, status)
                         : MPI_File_read_shared(file, buffer, count, type, status);
}

}  // namespace

int end_split(MPI_File file, Access const& access, void* buffer, MPI_Status* status) {
    if (access.writes)
        return access.at_offset ? MPI_File_write_at_all_end(file, buffer, status)
                                : MPI_File_write_all_end(file, buffer, status);
    return access.at_offset ? MPI_File_read_at_all_end(file, buffer, status)
                            : MPI_File_read_all_end(file, buffer, status);
}

int begin_access(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                 MPI_Request* request) {
    if (access.flavour == Flavour::split) return begin_split(file, access, buffer, type);
    return begin_nonblocking(file, access, buffer, type, request);
}

int call_access(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                MPI_Status* status) {
    if (access.ordered) return call_ordered(file, access, buffer, type, status);
    if (access.shared) return call_shared(file, access, buffer, type, status);
    switch (access.flavour) {
        case Flavour::blocking:
            return call_blocking(file, access, buffer, type, status);
        case Flavour::nonblocking:
            return call_nonblocking(file, access, buffer, type, status);
        case Flavour::split:
            return call_split(file, access, buffer, type, status);
    }
    return MPI_ERR_OTHER;
}

}  // namespace fuzz
