# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# lacuna_add_test(NAME SOURCES a.cpp … [LIBS targets …] [INCLUDES dirs …] [TIMEOUT s] [LABELS …] [RUN_SERIAL])
# One GoogleTest program whose cases ctest discovers under the program's name.
function(lacuna_add_test name)
  cmake_parse_arguments(arg "RUN_SERIAL" "TIMEOUT" "SOURCES;LIBS;INCLUDES;LABELS;DEFINES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE lacuna::options ${arg_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests" ${arg_INCLUDES})
  target_compile_definitions(${name} PRIVATE
    LACUNA_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" LACUNA_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" ${arg_DEFINES})
  set(properties TIMEOUT ${arg_TIMEOUT})
  if(arg_LABELS)
    list(APPEND properties LABELS "${arg_LABELS}")
  endif()
  if(arg_RUN_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
