# unisono_hdf5_program(NAME SOURCES ...): a program of parallel HDF5, as NAME.mpich and NAME.openmpi
# into build/programs, for each MPI that HDF5 was found for; UNISONO_HDF5_MPIS lists those.
include_guard(GLOBAL)

set(UNISONO_HDF5_MPIS "" CACHE INTERNAL "MPIs that parallel HDF5 was found for")
foreach(mpi ${UNISONO_MPIS})
  pkg_check_modules(PC_hdf5_${mpi} IMPORTED_TARGET GLOBAL hdf5-${mpi})
  if(PC_hdf5_${mpi}_FOUND)
    set(UNISONO_HDF5_MPIS ${UNISONO_HDF5_MPIS} ${mpi} CACHE INTERNAL "")
  endif()
endforeach()

function(unisono_hdf5_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  foreach(mpi ${UNISONO_HDF5_MPIS})
    add_executable(${name}.${mpi} ${ARG_SOURCES})
    target_link_libraries(${name}.${mpi} PRIVATE PkgConfig::PC_hdf5_${mpi} unisono_mpi_${mpi})
    set_target_properties(${name}.${mpi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs)
  endforeach()
endfunction()
