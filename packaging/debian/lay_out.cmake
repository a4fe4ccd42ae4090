# Run by CPack on what is to be packed: moves and adds what Debian's policy wants otherwise than the
# installed tree has it.
set(sources ${CPACK_UNISONO_SOURCES})
set(debian ${sources}/packaging/debian)

function(compress from to)
  execute_process(COMMAND gzip -9nc ${from} OUTPUT_FILE ${to} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component unisono bench)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(documents ${root}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${documents} ${root}/usr/share/lintian/overrides)
  configure_file(${sources}/LICENSE ${documents}/copyright COPYONLY)
  configure_file(${debian}/changelog.in ${root}/changelog)
  compress(${root}/changelog ${documents}/changelog.Debian.gz)
  file(REMOVE ${root}/changelog)
  configure_file(${debian}/${package}.lintian-overrides ${root}/usr/share/lintian/overrides/${package} COPYONLY)
endforeach()

set(root ${CPACK_TEMPORARY_DIRECTORY}/unisono)
# A configuration file of the package: what a site writes into it survives updates.
file(MAKE_DIRECTORY ${root}/etc)
file(RENAME ${root}/usr/etc/unisono.conf.example ${root}/etc/unisono.conf)
# Everything is where the system looks by itself.
file(REMOVE_RECURSE ${root}/usr/etc ${root}/usr/share/modulefiles)
file(GLOB pages ${root}/usr/share/man/man1/*.1)
foreach(page IN LISTS pages)
  compress(${page} ${page}.gz)
  file(REMOVE ${page})
endforeach()

# Whatever the umask of whoever makes the packages.
execute_process(COMMAND chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
