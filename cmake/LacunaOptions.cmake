# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Relative, so that no folder but the build's own is ever searched for our libraries.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

set(LACUNA_CUDA AUTO CACHE STRING "Build the CUDA parts: AUTO (where the toolkit is), ON or OFF")
set_property(CACHE LACUNA_CUDA PROPERTY STRINGS AUTO ON OFF)
# What to build. AUTO leaves a room out where something it needs is missing, and reports it with the remedy; ON makes
# that an error. LacunaDependencies decides.
function(lacuna_room name doc)
  set(LACUNA_BUILD_${name} AUTO CACHE STRING "${doc}: AUTO (where what it needs is found), ON or OFF")
  set_property(CACHE LACUNA_BUILD_${name} PROPERTY STRINGS AUTO ON OFF)
endfunction()
lacuna_room(COLLECTOR "lacuna run: the injected library and the supervisor")
lacuna_room(RUNTIME "the instrumented tensor runtime (needs oneDNN)")
lacuna_room(ANALYZER "the store, the analyses and the report")
lacuna_room(CLI "the lacuna command")
lacuna_room(GUI "the desktop GUI (needs Qt 6)")
lacuna_room(SAMPLES "the sample training programs (need the runtime)")
lacuna_room(BENCH "benchmarks (need Google Benchmark)")
option(LACUNA_BUILD_TESTS "unit and end-to-end tests (need GoogleTest)" ON)
option(LACUNA_BUILD_FUZZERS "libFuzzer targets (needs clang)" OFF)
option(LACUNA_FUZZ_ALL "libFuzzer sees the branches of all of the analyzer, not only of what reads files" OFF)
option(LACUNA_WERROR "treat warnings as errors" OFF)
option(LACUNA_UNITE "compile several files at once: builds faster, but a missing #include may go unseen" OFF)
option(LACUNA_PRECOMPILE "precompile headers: builds faster, but a missing #include goes unseen" OFF)
option(LACUNA_TESTS_TOGETHER "one process for all cases of a test program that leave nothing behind: quicker, but ctest lists no cases" OFF)
option(LACUNA_CHECK_TESTS "with LACUNA_CHECK_ONLY, tests too; scripts/lint checks those that a change touches" OFF)
option(LACUNA_CHECK_ONLY "have the compiler check each file; what it would make of them is an empty file" OFF)
set(LACUNA_SANITIZE "" CACHE STRING "sanitizers, comma-separated: address,undefined or thread")

include(CheckCXXCompilerFlag)
# For code that runs at every event and hands small structures on right after they were filled. A copy of two fields in
# one vector register has to wait until both stores have reached the cache. A copy of each field alone does not.
set(lacuna_scalar_copies -fno-tree-slp-vectorize)

add_library(lacuna_options INTERFACE)
add_library(lacuna::options ALIAS lacuna_options)
target_compile_features(lacuna_options INTERFACE cxx_std_20)
target_compile_options(lacuna_options INTERFACE
  -Wall -Wextra -Wpedantic $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<BOOL:${LACUNA_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports overlaps and overflows inside inlined std::string and std::vector that cannot happen.
  target_compile_options(lacuna_options INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# Intel's processors from Skylake to Cascade Lake decode a jump anew each time when it touches a 32-byte boundary. This
# costs a tenth of recording a range, by the chance of where the code comes to lie. The assembler can move such jumps.
foreach(flag IN ITEMS -mbranches-within-32B-boundaries -Wa,-mbranches-within-32B-boundaries)
  string(MAKE_C_IDENTIFIER "LACUNA_HAVE${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    target_compile_options(lacuna_options INTERFACE $<$<AND:$<CONFIG:Release,RelWithDebInfo>,$<COMPILE_LANGUAGE:C,CXX>>:${flag}>)
    break()
  endif()
endforeach()
# The path of one of clang's own libraries: lacuna_clang_library(asan so OUT).
function(lacuna_clang_library name ending out)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libclang_rt.${name}-${CMAKE_SYSTEM_PROCESSOR}.${ending}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

if(LACUNA_SANITIZE)
  target_compile_options(lacuna_options INTERFACE
    -fsanitize=${LACUNA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # GCC defines this macro by itself.
    string(REGEX MATCH "address|thread" sanitizer "${LACUNA_SANITIZE}")
    string(TOUPPER "__SANITIZE_${sanitizer}__" sanitizer)
    target_compile_definitions(lacuna_options INTERFACE ${sanitizer})
    # Clang alone checks the types of functions that are called through pointers. Functions found by name at run time (NVML,
    # CUPTI, the doors of lacuna run) are called with types that the caller declares, which the check refuses.
    target_compile_options(lacuna_options INTERFACE -fno-sanitize=function)
  endif()
  target_link_options(lacuna_options INTERFACE -fsanitize=${LACUNA_SANITIZE})
  if(LACUNA_SANITIZE MATCHES "address")
    # The address sanitizer finds the first two by itself; they take a sixth of the build. The third opens a pipe before it
    # reads an object, so it fails in programs that have no descriptor left.
    target_compile_options(lacuna_options INTERFACE -fno-sanitize=null,object-size,vptr)
    # Only code that reads outside bytes is checked for alignment and for pointers that overflow, which takes a quarter of
    # the compiler's time: see lacuna_fuzzed().
    target_compile_options(lacuna_options INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:LACUNA_FUZZED>>>:-fno-sanitize=alignment,pointer-overflow>)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      # As with GCC: a program and the libraries loaded into it share one sanitizer.
      lacuna_clang_library(asan so lacuna_asan_library)
      get_filename_component(lacuna_asan_folder "${lacuna_asan_library}" DIRECTORY)
      target_link_options(lacuna_options INTERFACE -shared-libasan "-Wl,-rpath,${lacuna_asan_folder}")
    endif()
  endif()
endif()
include(LacunaHardening)
if(LACUNA_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "lacuna: LACUNA_BUILD_FUZZERS needs libFuzzer, which clang brings. Remedy: cmake --preset fuzz, "
      "or -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ (apt-get install clang, or scripts/setup --dev).")
  endif()
endif()

# lacuna_fuzzed(TARGET): code that fuzz targets run. libFuzzer sees the branches that an input takes in it.
function(lacuna_fuzzed target)
  if(LACUNA_BUILD_FUZZERS)
    set_target_properties(${target} PROPERTIES LACUNA_FUZZED ON)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_definitions(${target} PRIVATE LACUNA_FUZZED)
  endif()
endfunction()

# lacuna_hot(TARGET): code that tests wait for. It is optimised even in the asan preset, which optimises nothing else: clang
# compiles twice as fast then.
function(lacuna_hot target)
  if(LACUNA_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-O1>)
  endif()
endfunction()

# A quarter less work than a build that nothing runs. Only a precompiled header is written, to what is named for the front end.
if(LACUNA_CHECK_ONLY)
  foreach(language IN ITEMS C CXX)
    set(CMAKE_${language}_COMPILE_OBJECT
      "<CMAKE_${language}_COMPILER> <DEFINES> <INCLUDES> <FLAGS> -fsyntax-only -Xclang -o -Xclang <OBJECT> <SOURCE>"
      "touch <OBJECT>")
    foreach(product IN ITEMS CREATE_STATIC_LIBRARY CREATE_SHARED_LIBRARY CREATE_SHARED_MODULE LINK_EXECUTABLE)
      set(CMAKE_${language}_${product} "touch <TARGET>")
    endforeach()
  endforeach()
endif()

# lacuna_unite(TARGET): compiles its files up to 32 at a time; names in the anonymous namespaces of neighbours must differ.
# Half the work or less: neighbours read the same headers and use the same templates.
function(lacuna_unite target)
  if(LACUNA_UNITE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
    # For the compiler such a file is a header, in which a class must not hold what only one file knows.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
    # Below 600 MB (kB here) it need not look for memory to use again, a twentieth of its time.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=600000>)
  endif()
endfunction()

# lacuna_precompile(TARGET [HEADERS…]): spares each of its C++ files the reading of these and of common headers. Where the
# compiler only checks, it is to find files that miss an #include, so it precompiles nothing of ours. It does precompile
# headers of C++ and of fmt: tests/tools/includes_lint.py finds the files that miss one of those.
function(lacuna_precompile target)
  if(LACUNA_PRECOMPILE)
    set(headers algorithm array cstdint functional map memory optional set string string_view unordered_map vector ${ARGN})
    if(LACUNA_CHECK_ONLY)
      list(FILTER headers EXCLUDE REGEX "^lacuna/")
      list(APPEND headers atomic bit charconv chrono cmath condition_variable cstdio cstdlib cstring deque exception
        filesystem fstream initializer_list iostream iterator limits mutex numeric queue random span sstream stdexcept
        system_error thread tuple type_traits unordered_set utility variant)
      list(REMOVE_DUPLICATES headers)
    endif()
    list(TRANSFORM headers REPLACE "(.+)" "<\\1>")
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()

# lacuna_precompile_once(TARGET GROUP [HEADERS…]): the same for programs with the same flags. The first of a group precompiles
# the headers for all.
function(lacuna_precompile_once target group)
  get_property(first GLOBAL PROPERTY ${group})
  if(first AND LACUNA_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    lacuna_precompile(${target} ${ARGN})
    set_property(GLOBAL PROPERTY ${group} ${target})
  endif()
endfunction()
