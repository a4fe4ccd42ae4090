# Checks of the structure itself, as tests: pure parts cannot include mpi.h, and the preload
# libraries export entry points only and need nothing that could break a program. Include it last,
# when all targets exist. Also defines the targets unit_tests and unit_tests_mpi, which build the unit
# tests without and with an MPI library.

# All targets made in a folder and below it.
function(unisono_collect_targets folder result)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${below})
    unisono_collect_targets(${subfolder} more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# The static libraries below src/, orchestra/ and testbed/ that are not made for one MPI.
function(unisono_collect_parts result)
  set(targets "")
  foreach(folder src orchestra testbed)
    unisono_collect_targets(${CMAKE_SOURCE_DIR}/${folder} more)
    list(APPEND targets ${more})
  endforeach()
  list(JOIN UNISONO_ENGINES "|" mpis)
  set(parts "")
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY AND NOT target MATCHES "[-_](${mpis})$")
      list(APPEND parts ${target})
    endif()
  endforeach()
  set(${result} ${parts} PARENT_SCOPE)
endfunction()

# Compiles the probe with the include folders that a property of a target lists, its dependencies'
# folders included.
function(unisono_test_mpi_header name target property)
  set(folders "$<TARGET_PROPERTY:${target},${property}>")
  add_test(NAME ${name}
           COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only
                   "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>"
                   ${CMAKE_SOURCE_DIR}/cmake/checks/includes_mpi.cpp
           COMMAND_EXPAND_LISTS)
endfunction()

function(unisono_check_purity)
  unisono_collect_parts(parts)
  foreach(part ${parts})
    unisono_test_mpi_header(check.cannot_see_mpi.${part} ${part} INCLUDE_DIRECTORIES)
    set_tests_properties(check.cannot_see_mpi.${part} PROPERTIES
                         PASS_REGULAR_EXPRESSION "fatal error: mpi.h: No such file")
  endforeach()
  # The other way round, or the tests above could pass for a wrong reason.
  foreach(mpi ${UNISONO_ENGINES})
    unisono_test_mpi_header(check.can_see_mpi.${mpi} unisono_mpi_headers_${mpi}
                            INTERFACE_INCLUDE_DIRECTORIES)
  endforeach()
endfunction()

function(unisono_check_exports)
  foreach(mpi ${UNISONO_ENGINES})
    if(NOT TARGET unisono_mpi_${mpi})
      continue()
    endif()
    set(library ${CMAKE_BINARY_DIR}/lib/libunisono-${mpi})
    add_test(NAME check.exports.${mpi}
             COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tools/check_exports.py
                     --shim ${library}.so --engine ${library}-engine.so --mpi ${UNISONO_MPI_LIBRARY_${mpi}})
  endforeach()
endfunction()

function(unisono_group_unit_tests)
  list(JOIN UNISONO_ENGINES "|" mpis)
  unisono_collect_targets(${CMAKE_SOURCE_DIR} targets)
  add_custom_target(unit_tests)
  add_custom_target(unit_tests_mpi)
  foreach(target ${targets})
    if(target MATCHES "_test\\.(${mpis})$")
      add_dependencies(unit_tests_mpi ${target})
    elseif(target MATCHES "_test$")
      add_dependencies(unit_tests ${target})
    endif()
  endforeach()
endfunction()

if(UNISONO_TESTS)
  unisono_check_purity()
  unisono_check_exports()
  unisono_group_unit_tests()
endif()
