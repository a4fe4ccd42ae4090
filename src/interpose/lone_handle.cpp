#include "interpose/lone_handle.hpp"

#include <array>
#include <climits>

#include "interpose/datatypes.hpp"
#include "interpose/mpiio_backend.hpp"
#include "interpose/native.hpp"

namespace unisono::interpose {
namespace {

// The file's handle has the view if it knows it; else its types are Unisono's.
int give_view_of(File const& file, MPI_File to) {
    auto const view = file.view();
    if (!view->mirrored)
        return UNISONO_NATIVE(File_set_view)(to, view->displacement, view->etype, view->filetype,
                                             view->native_representation(), MPI_INFO_NULL);
    MPI_Offset displacement = 0;
    MPI_Datatype etype = MPI_DATATYPE_NULL;
    MPI_Datatype filetype = MPI_DATATYPE_NULL;
    std::array<char, MPI_MAX_DATAREP_STRING + 1> representation{};
    auto code = UNISONO_NATIVE(File_get_view)(file.handle(), &displacement, &etype, &filetype,
                                              representation.data());
    if (code != MPI_SUCCESS) return code;
    code = UNISONO_NATIVE(File_set_view)(to, displacement, etype, filetype, representation.data(),
                                         MPI_INFO_NULL);
    for (auto* type : {&etype, &filetype})
        if (!predefined(*type)) PMPI_Type_free(type);
    return code;
}

}  // namespace

int call_alone(File const& file, DataCall const& call, MPI_Status* status) {
    if (call.count > INT_MAX) return MPI_ERR_COUNT;
    auto const name = file.name_for_mpi();
    if (!name) return MPI_ERR_IO;
    auto* own = open_alone(*name, file.access_mode(), file.context().threaded());
    if (own == MPI_FILE_NULL) return MPI_ERR_IO;
    auto* const buffer = const_cast<void*>(call.buffer);
    auto const count = static_cast<int>(call.count);
    auto code = give_view_of(file, own);
    if (code == MPI_SUCCESS)
        code =
            call.direction == Direction::write
                ? UNISONO_NATIVE(File_write_at)(own, *call.offset, buffer, count, call.type, status)
                : UNISONO_NATIVE(File_read_at)(own, *call.offset, buffer, count, call.type, status);
    auto const closed = UNISONO_NATIVE(File_close)(&own);
    return code == MPI_SUCCESS ? closed : code;
}

}  // namespace unisono::interpose
