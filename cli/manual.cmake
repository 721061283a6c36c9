# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# cmake -D PROGRAM=lacuna -D PAGES=FOLDER -P manual.cmake: the manual page of each command, and that of lacuna itself.
file(REMOVE_RECURSE "${PAGES}")
file(MAKE_DIRECTORY "${PAGES}")
execute_process(COMMAND "${PROGRAM}" --complete "" OUTPUT_VARIABLE words COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" words "${words}")
foreach(word IN LISTS words)
  if(NOT word MATCHES "^-")
    execute_process(COMMAND "${PROGRAM}" manual ${word} OUTPUT_FILE "${PAGES}/lacuna-${word}.1" COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
# The last one: it stands for all.
execute_process(COMMAND "${PROGRAM}" manual OUTPUT_FILE "${PAGES}/lacuna.1" COMMAND_ERROR_IS_FATAL ANY)
