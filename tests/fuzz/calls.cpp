#include "calls.hpp"

namespace fuzz {

namespace {

// A call that writes or reads, with a count of the type that the access wants.
#define FUZZ_CALL_OF(before, after, ...)                          \
    (access.writes ? MPI_File_##before##write##after(__VA_ARGS__) \
                   : MPI_File_##before##read##after(__VA_ARGS__))
#if MPI_VERSION >= 4
#define FUZZ_CALL(before, after, ...)                                  \
    (access.large_count ? FUZZ_CALL_OF(before, after##_c, __VA_ARGS__) \
                        : FUZZ_CALL_OF(before, after, __VA_ARGS__))
#else
#define FUZZ_CALL(before, after, ...) FUZZ_CALL_OF(before, after, __VA_ARGS__)
#endif

int call_blocking(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                  MPI_Status* status) {
    auto const offset = static_cast<MPI_Offset>(access.offset);
    auto const count = static_cast<int>(access.count);
    if (access.at_offset)
        return access.collective ? FUZZ_CALL(, _at_all, file, offset, buffer, count, type, status)
                                 : FUZZ_CALL(, _at, file, offset, buffer, count, type, status);
    return access.collective ? FUZZ_CALL(, _all, file, buffer, count, type, status)
                             : FUZZ_CALL(, , file, buffer, count, type, status);
}

int begin_nonblocking(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                      MPI_Request* request) {
    auto const offset = static_cast<MPI_Offset>(access.offset);
    auto const count = static_cast<int>(access.count);
    if (access.at_offset)
        return access.collective ? FUZZ_CALL(i, _at_all, file, offset, buffer, count, type, request)
                                 : FUZZ_CALL(i, _at, file, offset, buffer, count, type, request);
    return access.collective ? FUZZ_CALL(i, _all, file, buffer, count, type, request)
                             : FUZZ_CALL(i, , file, buffer, count, type, request);
}

/// Nothing was moved that anybody could know of.
int nothing_begun(int code, MPI_Status* status) {
    if (status != MPI_STATUS_IGNORE) MPI_Status_set_elements(status, MPI_BYTE, 0);
    return code;
}

int call_nonblocking(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                     MPI_Status* status) {
    MPI_Request request = MPI_REQUEST_NULL;
    int const code = begin_nonblocking(file, access, buffer, type, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, status) : nothing_begun(code, status);
}

int begin_split(MPI_File file, Access const& access, void* buffer, MPI_Datatype type) {
    auto const offset = static_cast<MPI_Offset>(access.offset);
    auto const count = static_cast<int>(access.count);
    return access.at_offset ? FUZZ_CALL(, _at_all_begin, file, offset, buffer, count, type)
                            : FUZZ_CALL(, _all_begin, file, buffer, count, type);
}

int call_split(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
               MPI_Status* status) {
    int const code = begin_split(file, access, buffer, type);
    return code == MPI_SUCCESS ? end_split(file, access, buffer, status)
                               : nothing_begun(code, status);
}

int call_ordered(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                 MPI_Status* status) {
    auto const count = static_cast<int>(access.count);
    if (access.flavour != Flavour::split)
        return FUZZ_CALL(, _ordered, file, buffer, count, type, status);
    int const code = FUZZ_CALL(, _ordered_begin, file, buffer, count, type);
    return code == MPI_SUCCESS ? FUZZ_CALL_OF(, _ordered_end, file, buffer, status)
                               : nothing_begun(code, status);
}

int call_shared(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                MPI_Status* status) {
    auto const count = static_cast<int>(access.count);
    if (access.flavour != Flavour::nonblocking)
        return FUZZ_CALL(, _shared, file, buffer, count, type, status);
    MPI_Request request = MPI_REQUEST_NULL;
    int const code = FUZZ_CALL(i, _shared, file, buffer, count, type, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, status) : nothing_begun(code, status);
}

}  // namespace

int end_split(MPI_File file, Access const& access, void* buffer, MPI_Status* status) {
    return access.at_offset ? FUZZ_CALL_OF(, _at_all_end, file, buffer, status)
                            : FUZZ_CALL_OF(, _all_end, file, buffer, status);
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
