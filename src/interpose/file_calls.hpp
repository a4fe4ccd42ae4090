#pragma once

#include <mpi.h>

namespace unisono::interpose {

// Unisono's versions of the MPI functions of the same names, without data.
int File_open(MPI_Comm comm, char const* path, int access_mode, MPI_Info info, MPI_File* handle);
/// Where UNISONO_DISABLE is set: the MPI library's, but ranks without it learn of this one.
int open_switched_off(MPI_Comm comm, char const* path, int access_mode, MPI_Info info,
                      MPI_File* handle);
int File_close(MPI_File* handle);
int File_set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype etype,
                  MPI_Datatype filetype, char const* representation, MPI_Info info);
int File_get_view(MPI_File handle, MPI_Offset* displacement, MPI_Datatype* etype,
                  MPI_Datatype* filetype, char* representation);
int File_get_type_extent(MPI_File handle, MPI_Datatype type, MPI_Aint* extent);
#ifdef UNISONO_LARGE_COUNTS
int File_get_type_extent_c(MPI_File handle, MPI_Datatype type, MPI_Count* extent);
#endif
int File_get_info(MPI_File handle, MPI_Info* info);
int File_set_info(MPI_File handle, MPI_Info info);
int File_set_atomicity(MPI_File handle, int atomic);
int File_set_size(MPI_File handle, MPI_Offset size);
int File_get_size(MPI_File handle, MPI_Offset* size);
int File_sync(MPI_File handle);
int File_preallocate(MPI_File handle, MPI_Offset size);
int File_seek(MPI_File handle, MPI_Offset offset, int whence);
int File_seek_shared(MPI_File handle, MPI_Offset offset, int whence);
int File_get_position_shared(MPI_File handle, MPI_Offset* offset);
int File_get_position(MPI_File handle, MPI_Offset* offset);
int File_get_byte_offset(MPI_File handle, MPI_Offset offset, MPI_Offset* displacement);

}  // namespace unisono::interpose
