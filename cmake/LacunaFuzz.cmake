# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# lacuna_add_fuzzer(NAME SOURCES a.cpp … [LIBS targets …] [INCLUDES dirs …] [RUNS n] [MAX_LEN bytes])
# One libFuzzer program fuzz_NAME. Its test runs it a fixed number of times from the committed corpus/NAME, with a fixed
# seed, so that CI is repeatable; what it finds new goes into the build folder. Run the program by hand for longer.
function(lacuna_add_fuzzer name)
  cmake_parse_arguments(arg "" "RUNS;MAX_LEN" "SOURCES;LIBS;INCLUDES" ${ARGN})
  if(NOT arg_RUNS)
    set(arg_RUNS 50000)
  endif()
  if(NOT arg_MAX_LEN)
    set(arg_MAX_LEN 65536)
  endif()
  set(corpus "${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name}")
  file(GLOB seeds "${corpus}/*")
  if(NOT seeds)
    message(FATAL_ERROR "lacuna: the fuzz target ${name} has no seeds. Remedy: commit some to ${corpus}.")
  endif()
  add_executable(fuzz_${name} ${arg_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE lacuna::options ${arg_LIBS})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests" ${arg_INCLUDES})
  set(found "${CMAKE_CURRENT_BINARY_DIR}/found/${name}")
  file(MAKE_DIRECTORY "${found}")
  add_test(NAME fuzz.${name}
    COMMAND fuzz_${name} -runs=${arg_RUNS} -seed=1 -max_len=${arg_MAX_LEN} -timeout=10 -rss_limit_mb=1024
      -artifact_prefix=${found}/ -print_final_stats=1 "${found}" "${corpus}")
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 600)
endfunction()
