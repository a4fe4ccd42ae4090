# `make deb`: the packages unisono and unisono-bench for the Debian system that this is built on.
# Include it last, when all that is installed is known.
find_program(UNISONO_DPKG dpkg)
if(NOT UNISONO_DPKG)
  return()
endif()
set(debian ${CMAKE_SOURCE_DIR}/packaging/debian)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME unisono)
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "The Unisono developers <unisono@localhost>")
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL unisono bench)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${debian}/lay_out.cmake)
set(CPACK_UNISONO_SOURCES ${CMAKE_SOURCE_DIR})

set(CPACK_DEBIAN_UNISONO_PACKAGE_NAME unisono)
set(CPACK_DEBIAN_UNISONO_PACKAGE_SECTION science)
set(CPACK_DEBIAN_UNISONO_DESCRIPTION "Unisono does the collective MPI_File calls of MPI programs instead of the
MPI library: no source change, no rebuild, the same behaviour on MPICH and
Open MPI. This package has the libraries, the command unisono and the
documentation.")
set(CPACK_DEBIAN_UNISONO_PACKAGE_DEPENDS "python3 (>= 3.10), python3-click, python3-rich")
set(CPACK_DEBIAN_UNISONO_PACKAGE_RECOMMENDS "mpich | openmpi-bin, python3-jinja2")
set(CPACK_DEBIAN_UNISONO_PACKAGE_SUGGESTS "fuse3, iproute2, python3-matplotlib, unisono-bench")
set(CPACK_DEBIAN_UNISONO_PACKAGE_CONTROL_EXTRA ${debian}/conffiles ${debian}/postinst ${debian}/prerm
    ${debian}/triggers)

# Apart, because its programs are linked with both MPIs.
set(CPACK_DEBIAN_BENCH_PACKAGE_NAME unisono-bench)
set(CPACK_DEBIAN_BENCH_PACKAGE_SECTION science)
set(CPACK_DEBIAN_BENCH_DESCRIPTION "The benchmarks of papers on collective I/O, which the command unisono bench
runs, and unisono doctor to see whether Unisono reaches the ranks; and what
unisono replay runs.")
set(CPACK_DEBIAN_BENCH_PACKAGE_DEPENDS "unisono (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_BENCH_PACKAGE_RECOMMENDS "mpich, openmpi-bin")
include(CPack)
