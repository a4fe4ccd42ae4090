# Finds each MPI on this machine by its pkg-config file, side by side (FindMPI finds only one), and the
# header of the MPI-5 standard ABI, which engines are built with as well.
# Defines
#   UNISONO_MPIS     of mpich, openmpi: programs and tests are built for these
#   UNISONO_ENGINES  these and abi: so are libraries
# and for each NAME of an engine
#   unisono_mpi_headers_NAME  headers only, for the engine, which must not need a particular libmpi
#   unisono_mpi_NAME          headers and library of that MPI, to link programs with; not always for abi
#   UNISONO_MPI_LIBRARY_NAME  that library's file
#   UNISONO_MPI_VERSION_NAME  its version, of those of UNISONO_MPIS
#   UNISONO_MPIEXEC_NAME      its launcher, with what a test machine needs (root, more ranks than cores)
find_package(PkgConfig REQUIRED)
set(UNISONO_MPIS "")

function(unisono_find_mpi name module)
  pkg_check_modules(PC_${name} IMPORTED_TARGET ${module})
  # Debian has them side by side in one folder; where each MPI has a folder of its own, names are plain.
  find_program(UNISONO_MPIEXEC_PROGRAM_${name} mpiexec.${name})
  find_program(UNISONO_MPIEXEC_PROGRAM_${name} mpiexec PATHS ${PC_${name}_PREFIX}/bin NO_DEFAULT_PATH)
  if(NOT PC_${name}_FOUND OR NOT UNISONO_MPIEXEC_PROGRAM_${name})
    message(STATUS "MPI ${name}: not found")
    return()
  endif()
  add_library(unisono_mpi_${name} INTERFACE)
  target_link_libraries(unisono_mpi_${name} INTERFACE PkgConfig::PC_${name})
  add_library(unisono_mpi_headers_${name} INTERFACE)
  target_include_directories(unisono_mpi_headers_${name} SYSTEM INTERFACE ${PC_${name}_INCLUDE_DIRS})
  target_compile_definitions(unisono_mpi_headers_${name} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  # The first library that the MPI's pkg-config file names is the MPI library, or MPICH's for Fortran.
  get_target_property(libraries PkgConfig::PC_${name} INTERFACE_LINK_LIBRARIES)
  list(FILTER libraries EXCLUDE REGEX fort)
  list(GET libraries 0 library)
  set(UNISONO_MPI_LIBRARY_${name} ${library} PARENT_SCOPE)
  set(UNISONO_MPI_VERSION_${name} ${PC_${name}_VERSION} PARENT_SCOPE)
  set(UNISONO_MPIS ${UNISONO_MPIS} ${name} PARENT_SCOPE)
  message(STATUS "MPI ${name}: ${UNISONO_MPIEXEC_PROGRAM_${name}}")
endfunction()

# MPICH 5 has the header, also its wheel from PyPI (tools/mpi_wheels.sh). To build the engine nothing
# else is needed; with a library and a launcher beside it there are tests, too.
function(unisono_find_mpi_abi)
  set(wheels ${CMAKE_SOURCE_DIR}/build/mpis/mpich)
  find_file(UNISONO_MPI_ABI_HEADER mpi_abi.h PATHS ${CMAKE_BINARY_DIR}/mpis/mpich/include ${wheels}/include
            DOC "mpi_abi.h of the MPI-5 standard ABI; OFF: no engine for it")
  if(NOT UNISONO_MPI_ABI_HEADER)
    message(STATUS "MPI abi (MPI-5 standard ABI): not found; tools/mpi_wheels.sh mpich fetches its header")
    return()
  endif()
  # Sources include it by the name that every MPI's header has.
  configure_file(${UNISONO_MPI_ABI_HEADER} ${CMAKE_BINARY_DIR}/mpi_abi/mpi.h COPYONLY)
  add_library(unisono_mpi_headers_abi INTERFACE)
  target_include_directories(unisono_mpi_headers_abi SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/mpi_abi)
  set(UNISONO_ENGINES ${UNISONO_MPIS} abi PARENT_SCOPE)

  # The same with Intel MPI's numbers (src/interpose/numbers.hpp), for programs that test that.
  file(READ ${UNISONO_MPI_ABI_HEADER} header)
  string(REGEX REPLACE "(MPI_ERRORS_ABORT +)[^\n]*" "\\1((MPI_Errhandler)0x00000143)" header "${header}")
  string(REGEX REPLACE "(MPI_ERRORS_RETURN +)[^\n]*" "\\1((MPI_Errhandler)0x00000142)" header "${header}")
  string(REGEX REPLACE "(MPI_SEEK_SET +=) 403" "\\1 401" header "${header}")
  string(REGEX REPLACE "(MPI_SEEK_END +=) 402" "\\1 403" header "${header}")
  string(REGEX REPLACE "(MPI_SEEK_CUR +=) 401" "\\1 402" header "${header}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/mpi_abi_intel/mpi.h CONTENT "${header}" @ONLY)
  add_library(unisono_mpi_headers_abi_intel INTERFACE)
  target_include_directories(unisono_mpi_headers_abi_intel SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/mpi_abi_intel)
  message(STATUS "MPI abi: ${UNISONO_MPI_ABI_HEADER}")

  get_filename_component(prefix ${UNISONO_MPI_ABI_HEADER} DIRECTORY)
  get_filename_component(prefix ${prefix} DIRECTORY)
  find_library(UNISONO_MPI_LIBRARY_abi libmpi_abi.so.1 PATHS ${prefix}/lib NO_DEFAULT_PATH)
  find_program(UNISONO_MPIEXEC_abi mpiexec PATHS ${prefix}/bin NO_DEFAULT_PATH)
  if(UNISONO_MPI_LIBRARY_abi AND UNISONO_MPIEXEC_abi)
    foreach(mpi abi abi_intel)
      add_library(unisono_mpi_${mpi} INTERFACE)
      target_link_libraries(unisono_mpi_${mpi} INTERFACE unisono_mpi_headers_${mpi} ${UNISONO_MPI_LIBRARY_abi})
    endforeach()
  endif()
endfunction()

unisono_find_mpi(mpich mpich)
unisono_find_mpi(openmpi ompi-c)
set(UNISONO_ENGINES ${UNISONO_MPIS})
unisono_find_mpi_abi()

set(UNISONO_MPIEXEC_mpich ${UNISONO_MPIEXEC_PROGRAM_mpich})
set(UNISONO_MPIEXEC_openmpi ${UNISONO_MPIEXEC_PROGRAM_openmpi} --oversubscribe --allow-run-as-root)
