# unisono_hdf5_program(NAME SOURCES ...) and unisono_netcdf_program: a program of parallel HDF5 or PnetCDF, as NAME.mpich and
# NAME.openmpi into build/programs, for each MPI that the library was found for; UNISONO_HDF5_MPIS and UNISONO_NETCDF_MPIS
# list those.
include_guard(GLOBAL)

set(UNISONO_HDF5_MPIS "" CACHE INTERNAL "MPIs that parallel HDF5 was found for")
set(UNISONO_NETCDF_MPIS "" CACHE INTERNAL "MPIs that PnetCDF was found for")
foreach(mpi ${UNISONO_MPIS})
  pkg_check_modules(PC_hdf5_${mpi} IMPORTED_TARGET GLOBAL hdf5-${mpi})
  if(PC_hdf5_${mpi}_FOUND)
    add_library(unisono_hdf5_${mpi} ALIAS PkgConfig::PC_hdf5_${mpi})
    set(UNISONO_HDF5_MPIS ${UNISONO_HDF5_MPIS} ${mpi} CACHE INTERNAL "")
  endif()
endforeach()

# Debian's PnetCDF is an Open MPI one. Its pkg-config file names folders of the machine that built it (Debian 13).
find_path(UNISONO_NETCDF_INCLUDE pnetcdf.h)
find_library(UNISONO_NETCDF_LIBRARY pnetcdf)
mark_as_advanced(UNISONO_NETCDF_INCLUDE UNISONO_NETCDF_LIBRARY)
if(UNISONO_NETCDF_INCLUDE AND UNISONO_NETCDF_LIBRARY AND "openmpi" IN_LIST UNISONO_MPIS)
  add_library(unisono_netcdf_openmpi INTERFACE)
  target_include_directories(unisono_netcdf_openmpi SYSTEM INTERFACE ${UNISONO_NETCDF_INCLUDE})
  target_link_libraries(unisono_netcdf_openmpi INTERFACE ${UNISONO_NETCDF_LIBRARY})
  set(UNISONO_NETCDF_MPIS openmpi CACHE INTERNAL "")
endif()

function(unisono_program_with library mpis name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  foreach(mpi ${mpis})
    add_executable(${name}.${mpi} ${ARG_SOURCES})
    target_link_libraries(${name}.${mpi} PRIVATE unisono_${library}_${mpi} unisono_mpi_${mpi})
    set_target_properties(${name}.${mpi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs)
  endforeach()
endfunction()

function(unisono_hdf5_program name)
  unisono_program_with(hdf5 "${UNISONO_HDF5_MPIS}" ${name} ${ARGN})
endfunction()

function(unisono_netcdf_program name)
  unisono_program_with(netcdf "${UNISONO_NETCDF_MPIS}" ${name} ${ARGN})
endfunction()
