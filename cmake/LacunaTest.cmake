# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

add_library(lacuna_test_options INTERFACE)
# A third of the time it takes to compile the tests' own code goes into making it quick, which none of them needs.
target_compile_options(lacuna_test_options INTERFACE $<$<CONFIG:Release>:-Og>)
# What the undefined-behaviour sanitizer would look at there takes a fifth of the build and is not what they test; the
# libraries are checked for alignment, and lacuna_fuzzed() has them checked for all of it.
if(LACUNA_SANITIZE MATCHES "undefined")
  target_compile_options(lacuna_test_options INTERFACE -fno-sanitize=alignment,pointer-overflow)
endif()

# Where the compiler only checks, half of a test's time goes into reading GoogleTest. That alone is read once, so a test still
# has to include all else that it uses.
if(LACUNA_CHECK_ONLY AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(lacuna_read_gtest "${CMAKE_CURRENT_BINARY_DIR}/gtest.pch")
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/gtest_headers.cpp"
    CONTENT "#include <gmock/gmock.h>\n#include <gtest/gtest.h>\n")
  add_library(lacuna_read_gtest OBJECT "${CMAKE_CURRENT_BINARY_DIR}/gtest_headers.cpp")
  target_link_libraries(lacuna_read_gtest PRIVATE lacuna::options lacuna_test_options GTest::gtest GTest::gmock)
  # Clang takes it only where it compiles for the same sort of object, and tests are programs. A compiler cache does not
  # know this output.
  set_target_properties(lacuna_read_gtest PROPERTIES POSITION_INDEPENDENT_CODE OFF CXX_COMPILER_LAUNCHER "")
  target_compile_options(lacuna_read_gtest PRIVATE -fPIE "SHELL:-x c++-header" "SHELL:-Xclang -emit-pch"
    "SHELL:-Xclang -o -Xclang ${lacuna_read_gtest}")
  # Objects do not wait for the objects of another target, but for commands they do.
  add_custom_command(OUTPUT "${lacuna_read_gtest}.stamp" COMMAND "${CMAKE_COMMAND}" -E touch "${lacuna_read_gtest}.stamp"
    DEPENDS $<TARGET_OBJECTS:lacuna_read_gtest> VERBATIM)
  add_custom_target(lacuna_gtest_is_read ALL DEPENDS "${lacuna_read_gtest}.stamp")
endif()

# lacuna_add_test(NAME SOURCES a.cpp … [LIBS targets …] [INCLUDES dirs …] [TIMEOUT s] [LABELS …] [RUN_SERIAL] [ONE_THREAD]
#   [TOGETHER])
# One GoogleTest program whose cases ctest discovers under the program's name. ONE_THREAD: what it tests starts no thread,
# so the thread sanitizer would look at it for nothing, ten times slower than it is; it is left out there. TOGETHER: its
# cases leave nothing behind in their process, so one process may run them all (LACUNA_TESTS_TOGETHER): most of them are
# over sooner than a process starts.
function(lacuna_add_test name)
  cmake_parse_arguments(arg "RUN_SERIAL;ONE_THREAD;TOGETHER" "TIMEOUT" "SOURCES;LIBS;INCLUDES;LABELS;DEFINES" ${ARGN})
  if(arg_ONE_THREAD AND LACUNA_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE lacuna::options lacuna_test_options ${arg_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests" ${arg_INCLUDES})
  target_compile_definitions(${name} PRIVATE LACUNA_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" ${arg_DEFINES})
  get_property(precompiled GLOBAL PROPERTY lacuna_precompiled_test)
  if(precompiled AND LACUNA_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM ${precompiled})
  else()
    lacuna_precompile(${name} gmock/gmock.h gtest/gtest.h filesystem fstream)
    set_property(GLOBAL PROPERTY lacuna_precompiled_test ${name})
  endif()
  if(lacuna_read_gtest)
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -include-pch -Xclang ${lacuna_read_gtest}>")
    add_dependencies(${name} lacuna_gtest_is_read)
  endif()
  lacuna_unite(${name})
  if(LACUNA_CHECK_ONLY AND NOT LACUNA_CHECK_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  set(properties TIMEOUT ${arg_TIMEOUT})
  if(arg_LABELS)
    list(APPEND properties LABELS "${arg_LABELS}")
  endif()
  if(arg_RUN_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  if(arg_TOGETHER AND LACUNA_TESTS_TOGETHER)
    add_test(NAME ${name} COMMAND ${name})
    # The longest ones first, so that none is alone at the end.
    set_tests_properties(${name} PROPERTIES ${properties} TIMEOUT 900 COST 100)
    return()
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
