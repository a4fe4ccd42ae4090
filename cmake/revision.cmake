# Writes revision.json: what is being built, for measurements. Who measures later may have checked out something else.
#   cmake -DSOURCE=... -DBUILD=... -P cmake/revision.cmake
cmake_minimum_required(VERSION 3.25)
find_program(GIT git)
set(revision "")
if(GIT)
  set(git ${GIT} --no-optional-locks -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse HEAD OUTPUT_VARIABLE revision ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${git} status --porcelain OUTPUT_VARIABLE changed ERROR_QUIET)
endif()
string(REGEX MATCHALL "\n" lines "${changed}")
list(LENGTH lines changed_files)
file(WRITE ${BUILD}/revision.json "{\"git_revision\": \"${revision}\", \"git_changed_files\": ${changed_files}}\n")
