# What `make install PREFIX=...` copies. Everything is found relative to where it lies, so the tree
# can be moved or packed. Include it after src/ and cli/, when their targets exist.
include(GNUInstallDirs)
set(unisono_package_sources ${CMAKE_SOURCE_DIR}/cmake/package)
set(unisono_package_files ${CMAKE_BINARY_DIR}/package)

# The preload library that users name, and the engine that it loads from its own folder.
function(unisono_install_libraries)
  foreach(mpi ${UNISONO_ENGINES})
    foreach(library unisono-${mpi} unisono-${mpi}-engine)
      if(TARGET ${library})
        unisono_install(${library} LIBRARY DESTINATION lib)
      else()
        message(STATUS "Install: no target ${library}")
      endif()
    endforeach()
  endforeach()
endfunction()

# For programs that link with Unisono instead of preloading it.
function(unisono_install_development_files)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/unisono DESTINATION include
          FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
  unisono_install(unisono-plugin ARCHIVE DESTINATION lib)
  foreach(mpi ${UNISONO_ENGINES})
    configure_file(${unisono_package_sources}/unisono.pc.in
                   ${unisono_package_files}/unisono-${mpi}.pc @ONLY)
    install(FILES ${unisono_package_files}/unisono-${mpi}.pc DESTINATION lib/pkgconfig)
  endforeach()
  include(CMakePackageConfigHelpers)
  configure_package_config_file(
    ${unisono_package_sources}/UnisonoConfig.cmake.in ${unisono_package_files}/UnisonoConfig.cmake
    INSTALL_DESTINATION lib/cmake/Unisono NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${unisono_package_files}/UnisonoConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${unisono_package_files}/UnisonoConfig.cmake
                ${unisono_package_files}/UnisonoConfigVersion.cmake
          DESTINATION lib/cmake/Unisono)
endfunction()

# What the unisono command calls; cli/ installs the command itself.
function(unisono_install_helpers)
  if(TARGET unisono-strategies)
    unisono_install(unisono-strategies RUNTIME DESTINATION bin)
  endif()
endfunction()

function(unisono_install_documents)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/ DESTINATION share/doc/unisono/examples)
  install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md
                ${CMAKE_SOURCE_DIR}/CONTRIBUTING.md ${CMAKE_SOURCE_DIR}/LICENSE
          DESTINATION share/doc/unisono)
  install(FILES ${CMAKE_SOURCE_DIR}/bench/README.md DESTINATION share/doc/unisono/bench)
  install(FILES ${CMAKE_SOURCE_DIR}/bench/papers/README.md DESTINATION share/doc/unisono/bench/papers)
  # As in the sources, so that their links lead somewhere.
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION share/doc/unisono
          FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.csv" PATTERN "*.txt" PATTERN man EXCLUDE)
  # Only an example: a site's own unisono.conf beside it must survive the next install.
  install(FILES ${unisono_package_sources}/unisono.conf
          DESTINATION etc RENAME unisono.conf.example)
endfunction()

function(unisono_install_modulefiles)
  foreach(suffix "" .lua)
    configure_file(${CMAKE_SOURCE_DIR}/packaging/modules/modulefile${suffix}.in
                   ${unisono_package_files}/modulefile${suffix} @ONLY)
    install(FILES ${unisono_package_files}/modulefile${suffix}
            DESTINATION share/modulefiles/unisono RENAME ${PROJECT_VERSION}${suffix})
  endforeach()
endfunction()

# For the wheel, which packaging/wheel/pack.py makes of an installation.
configure_file(${CMAKE_SOURCE_DIR}/packaging/wheel/METADATA.in ${unisono_package_files}/METADATA @ONLY)

# What `make uninstall` removes, what an earlier version installed here included. Packages have their own
# ways, and are made of components.
function(unisono_install_list)
  install(CODE [[
    if(NOT CMAKE_INSTALL_COMPONENT)
      get_filename_component(unisono_prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
      set(unisono_list "${unisono_prefix}/share/unisono/installed-files.txt")
      set(unisono_names "")
      if(EXISTS "$ENV{DESTDIR}${unisono_list}")
        file(STRINGS "$ENV{DESTDIR}${unisono_list}" unisono_names)
      endif()
      foreach(unisono_file IN LISTS CMAKE_INSTALL_MANIFEST_FILES ITEMS "${unisono_list}")
        get_filename_component(unisono_file "${unisono_file}" ABSOLUTE)
        file(RELATIVE_PATH unisono_name "${unisono_prefix}" "${unisono_file}")
        list(APPEND unisono_names "${unisono_name}")
      endforeach()
      list(REMOVE_DUPLICATES unisono_names)
      list(JOIN unisono_names "\n" unisono_names)
      file(WRITE "$ENV{DESTDIR}${unisono_list}" "${unisono_names}\n")
    endif()]])
endfunction()

function(unisono_install_warning)
  install(CODE [[
    if(CMAKE_INSTALL_PREFIX MATCHES "[ :]")
      message(WARNING "Nothing can be preloaded from ${CMAKE_INSTALL_PREFIX}: "
              "LD_PRELOAD cannot name folders with blanks or colons")
    endif()
    if(CMAKE_INSTALL_PREFIX MATCHES "[\"']")
      message(WARNING "pkg-config gives no flags for ${CMAKE_INSTALL_PREFIX}: it cannot name folders with quotes")
    endif()]])
endfunction()

unisono_install_libraries()
unisono_install_development_files()
unisono_install_helpers()
unisono_install_documents()
unisono_install_modulefiles()
unisono_install_list()
unisono_install_warning()
