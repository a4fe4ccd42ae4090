# MPI datatypes as shapes, once per MPI: unisono_datatypes_<mpi>.
# Its PMPI_ names are found in the process, so that the library does not pull in a libmpi.
foreach(mpi ${UNISONO_ENGINES})
  add_library(unisono_datatypes_${mpi} STATIC
    ${CMAKE_CURRENT_LIST_DIR}/datatypes.cpp ${CMAKE_CURRENT_LIST_DIR}/datatype_contents.cpp
    ${CMAKE_CURRENT_LIST_DIR}/datatype_external32.cpp ${CMAKE_CURRENT_LIST_DIR}/datatype_shapes.cpp)
  target_link_libraries(unisono_datatypes_${mpi} PUBLIC unisono_access unisono_mpi_headers_${mpi})

  if(UNISONO_TESTS AND TARGET unisono_mpi_${mpi})
    add_executable(datatypes_test.${mpi} ${CMAKE_CURRENT_LIST_DIR}/datatypes_test.cpp)
    target_link_libraries(datatypes_test.${mpi} PRIVATE unisono_datatypes_${mpi} unisono_mpi_${mpi} GTest::gtest)
    set_target_properties(datatypes_test.${mpi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME unit.datatypes.${mpi}
             COMMAND ${UNISONO_MPIEXEC_${mpi}} -n 1 $<TARGET_FILE:datatypes_test.${mpi}>)
    add_test(NAME unit.datatypes.${mpi}.singleton COMMAND datatypes_test.${mpi})
    set_tests_properties(unit.datatypes.${mpi} unit.datatypes.${mpi}.singleton PROPERTIES TIMEOUT 120)
  endif()
endforeach()
