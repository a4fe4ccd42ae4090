# All that is installed, and what that needs at run time: `make build`.
add_custom_target(product)
add_custom_target(built_revision COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DBUILD=${CMAKE_BINARY_DIR}
                                         -P ${CMAKE_SOURCE_DIR}/cmake/revision.cmake
                  COMMENT "Revision" VERBATIM)

# A target that is installed: unisono_install(TARGET arguments of install(TARGETS))
function(unisono_install target)
  install(TARGETS ${target} ${ARGN})
  add_dependencies(product ${target})
  add_dependencies(${target} built_revision)
endfunction()

# One pure part of Unisono: compiled once, cannot see mpi.h (no MPI include path is on it).
# unisono_part(NAME SOURCES a.cpp ... [NEEDS parts or libraries ...])
function(unisono_part name)
  cmake_parse_arguments(ARG "" "" "SOURCES;NEEDS" ${ARGN})
  add_library(unisono_${name} STATIC ${ARG_SOURCES})
  target_include_directories(unisono_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
                             ${CMAKE_SOURCE_DIR})
  target_link_libraries(unisono_${name} PUBLIC ${ARG_NEEDS})
endfunction()

# A GoogleTest program beside the code it tests:
# unisono_unit_test(NAME [SINGLE_THREADED] SOURCES ... NEEDS parts ...)
# SINGLE_THREADED: neither it nor what it tests makes threads, so tsan goes without it.
function(unisono_unit_test name)
  if(NOT UNISONO_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "SINGLE_THREADED" "" "SOURCES;NEEDS" ${ARGN})
  if(ARG_SINGLE_THREADED AND UNISONO_SANITIZE STREQUAL "thread")
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_NEEDS} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # Tests are compiled more often than they run.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-Og>)
  add_test(NAME unit.${name} COMMAND ${name})
endfunction()

# An MPI program, built once per MPI as NAME.mpich and NAME.openmpi into build/programs. With ABI also
# as NAME.abi and, with Intel MPI's numbers, NAME.abi_intel for the standard ABI, where that has a
# library, when asked for (tests/mpis).
# unisono_mpi_program(NAME [ABI] SOURCES ... [NEEDS libraries ...])
function(unisono_mpi_program name)
  cmake_parse_arguments(ARG "ABI" "" "SOURCES;NEEDS" ${ARGN})
  set(mpis ${UNISONO_MPIS})
  if(ARG_ABI AND TARGET unisono_mpi_abi)
    list(APPEND mpis abi abi_intel)
  endif()
  foreach(mpi ${mpis})
    add_executable(${name}.${mpi} ${ARG_SOURCES})
    target_link_libraries(${name}.${mpi} PRIVATE ${ARG_NEEDS} unisono_mpi_${mpi})
    set_target_properties(${name}.${mpi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs)
    if(mpi MATCHES "^abi")
      set_target_properties(${name}.${mpi} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endforeach()
endfunction()

# Runs an MPI program under Unisono or natively, with a time limit and the yield shim.
# unisono_mpi_test(NAME test PROGRAM name MPI mpich RANKS 4 [ARGS ...] [ENV K=V ...] [NATIVE] [TIMEOUT s]
#                  [PRELOAD library that is preloaded, too])
function(unisono_mpi_test)
  cmake_parse_arguments(ARG "NATIVE" "NAME;PROGRAM;MPI;RANKS;TIMEOUT;PRELOAD" "ARGS;ENV" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(preload ${CMAKE_BINARY_DIR}/lib/libunisono-yield.so)
  if(NOT ARG_NATIVE)
    set(preload ${CMAKE_BINARY_DIR}/lib/libunisono-${ARG_MPI}.so:${preload})
  endif()
  if(ARG_PRELOAD)
    set(preload ${preload}:$<TARGET_FILE:${ARG_PRELOAD}>)
  endif()
  add_test(NAME ${ARG_NAME}
           COMMAND ${UNISONO_MPIEXEC_${ARG_MPI}} -n ${ARG_RANKS} env LD_PRELOAD=${preload} UNISONO_TUNE=off ${ARG_ENV}
                   ${CMAKE_BINARY_DIR}/programs/${ARG_PROGRAM}.${ARG_MPI} ${ARG_ARGS})
  set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()
