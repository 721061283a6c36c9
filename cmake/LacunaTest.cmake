# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

add_library(lacuna_test_options INTERFACE)
# A third of the time it takes to compile the tests' own code goes into making it quick, which none of them needs.
target_compile_options(lacuna_test_options INTERFACE $<$<CONFIG:Release>:-Og>)

# lacuna_add_test(NAME SOURCES a.cpp … [LIBS targets …] [INCLUDES dirs …] [NEEDS targets …] [TIMEOUT s] [LABELS …]
#   [RUN_SERIAL] [ONE_THREAD] [TOGETHER])
# One GoogleTest program whose cases ctest discovers under the program's name. NEEDS: the targets that it starts or loads;
# one that this build lacks is passed over. ONE_THREAD: it tests code of one thread. The thread sanitizer leaves it out: it
# would be ten times slower and find nothing. Where such a test also reads a trace or runs an operator, other tests run the
# threads that do so. TOGETHER: its cases leave nothing behind in their process, so one process may run them all
# (LACUNA_TESTS_TOGETHER). Most cases take less time than a process takes to start.
function(lacuna_add_test name)
  cmake_parse_arguments(arg "RUN_SERIAL;ONE_THREAD;TOGETHER" "TIMEOUT" "SOURCES;LIBS;INCLUDES;LABELS;DEFINES;NEEDS" ${ARGN})
  if(arg_ONE_THREAD AND LACUNA_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE lacuna::options lacuna_test_options ${arg_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests" ${arg_INCLUDES})
  foreach(target IN LISTS arg_NEEDS)
    if(TARGET ${target})
      add_dependencies(${name} ${target})
    endif()
  endforeach()
  target_compile_definitions(${name} PRIVATE LACUNA_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" ${arg_DEFINES})
  lacuna_precompile_once(${name} lacuna_precompiled_test gmock/gmock.h gtest/gtest.h filesystem fstream)
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

# lacuna_tests_in(VARIABLE FOLDER…): the tests in these folders, each folder's by name. For folders in which one more file is
# one more finding, change, analysis, importer, operator, column or page, so that such a file is listed nowhere.
function(lacuna_tests_in variable)
  set(all)
  foreach(folder IN LISTS ARGN)
    file(GLOB tests CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${folder}/*_test.cpp")
    list(APPEND all ${tests})
  endforeach()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()
