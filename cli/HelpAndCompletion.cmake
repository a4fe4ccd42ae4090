# Man pages and shell completion, made by the command itself: they say what it says. Without help2man, click
# and rich there are none but the overview, which is written by hand.
set(share ${CMAKE_BINARY_DIR}/share)
configure_file(${CMAKE_SOURCE_DIR}/docs/man/unisono.1 ${share}/man/man1/unisono.1 COPYONLY)
install(DIRECTORY ${share}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} FILES_MATCHING PATTERN "*.1")

find_program(UNISONO_HELP2MAN help2man)
# By the interpreter that starts the command: another one may have other packages.
separate_arguments(python UNIX_COMMAND "${UNISONO_PYTHON}")
execute_process(COMMAND ${python} -c "import click, rich" RESULT_VARIABLE without_packages OUTPUT_QUIET ERROR_QUIET)
if(NOT UNISONO_HELP2MAN OR without_packages)
  message(STATUS "No man pages of single commands and no shell completion: they need help2man and, for ${UNISONO_PYTHON}, click and rich")
  return()
endif()

list(TRANSFORM modules PREPEND ${CMAKE_BINARY_DIR}/${UNISONO_PYTHON_DIR}/unisono/ OUTPUT_VARIABLE sources)
list(TRANSFORM sources APPEND .py)
file(GLOB includes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/include/*.h2m)
set(pages ${CMAKE_BINARY_DIR}/man_pages.stamp)
add_custom_command(OUTPUT ${pages} DEPENDS ${sources} ${includes} ${CMAKE_SOURCE_DIR}/tools/man_pages.py
  COMMAND ${python} ${CMAKE_SOURCE_DIR}/tools/man_pages.py ${CMAKE_BINARY_DIR}/${UNISONO_PYTHON_DIR}
          ${CMAKE_SOURCE_DIR}/docs/man/include ${share}/man/man1
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}
  COMMENT "Man pages" VERBATIM)

# Where each shell looks for them.
set(completion_bash bash-completion/completions/unisono)
set(completion_zsh zsh/site-functions/_unisono)
set(completion_fish fish/vendor_completions.d/unisono.fish)
foreach(shell bash zsh fish)
  set(script ${share}/${completion_${shell}})
  get_filename_component(folder ${script} DIRECTORY)
  add_custom_command(OUTPUT ${script} DEPENDS ${sources}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E env _UNISONO_COMPLETE=${shell}_source ${CMAKE_BINARY_DIR}/bin/unisono > ${script}
    VERBATIM)
  list(APPEND scripts ${script})
  get_filename_component(destination share/${completion_${shell}} DIRECTORY)
  install(FILES ${script} DESTINATION ${destination})
endforeach()

add_custom_target(help_and_completion ALL DEPENDS ${pages} ${scripts})
add_dependencies(product help_and_completion)
