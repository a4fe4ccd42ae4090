# Finds each MPI on this machine by its pkg-config file, side by side (FindMPI finds only one).
# Defines UNISONO_MPIS (a list of mpich, openmpi) and for each NAME:
#   unisono_mpi_NAME          headers and library of that MPI, to link programs with
#   unisono_mpi_headers_NAME  headers only, for the engine, which must not need a particular libmpi
#   UNISONO_MPIEXEC_NAME      its launcher, with what a test machine needs (root, more ranks than cores)
find_package(PkgConfig REQUIRED)
set(UNISONO_MPIS "")

function(unisono_find_mpi name module)
  pkg_check_modules(PC_${name} IMPORTED_TARGET ${module})
  find_program(UNISONO_MPIEXEC_PROGRAM_${name} mpiexec.${name})
  if(NOT PC_${name}_FOUND OR NOT UNISONO_MPIEXEC_PROGRAM_${name})
    message(STATUS "MPI ${name}: not found")
    return()
  endif()
  add_library(unisono_mpi_${name} INTERFACE)
  target_link_libraries(unisono_mpi_${name} INTERFACE PkgConfig::PC_${name})
  add_library(unisono_mpi_headers_${name} INTERFACE)
  target_include_directories(unisono_mpi_headers_${name} SYSTEM INTERFACE ${PC_${name}_INCLUDE_DIRS})
  target_compile_definitions(unisono_mpi_headers_${name} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  set(UNISONO_MPIS ${UNISONO_MPIS} ${name} PARENT_SCOPE)
  message(STATUS "MPI ${name}: ${UNISONO_MPIEXEC_PROGRAM_${name}}")
endfunction()

unisono_find_mpi(mpich mpich)
unisono_find_mpi(openmpi ompi-c)

set(UNISONO_MPIEXEC_mpich ${UNISONO_MPIEXEC_PROGRAM_mpich})
set(UNISONO_MPIEXEC_openmpi ${UNISONO_MPIEXEC_PROGRAM_openmpi} --oversubscribe --allow-run-as-root)
