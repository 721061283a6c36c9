# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# Every dependency is looked for here and nowhere else, so that a missing one is reported once, with its remedy.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(lacuna_require found what remedy)
  if(NOT ${found})
    message(FATAL_ERROR "lacuna: not found: ${what}. Remedy: ${remedy}, or run scripts/setup, which installs all of it.")
  endif()
endfunction()

# A room whose need is missing is switched off, with the remedy, and the summary repeats it; a room that was asked for
# by -DLACUNA_BUILD_X=ON stops the configuration instead.
macro(lacuna_room_needs room found what remedy)
  if(LACUNA_BUILD_${room} AND NOT ${found})
    if(LACUNA_BUILD_${room} STREQUAL "ON")
      message(FATAL_ERROR "lacuna: LACUNA_BUILD_${room}=ON, but not found: ${what}. Remedy: ${remedy}, or run "
        "scripts/setup, or leave LACUNA_BUILD_${room} at AUTO to build without it.")
    endif()
    message(WARNING "lacuna: not found: ${what}; ${room} is left out. Remedy: ${remedy}, or run scripts/setup.")
    set(LACUNA_BUILD_${room} OFF)
    list(APPEND LACUNA_LEFT_OUT "${room}: ${what} (${remedy})")
  endif()
endmacro()

find_package(fmt QUIET)
lacuna_require(fmt_FOUND "the fmt library" "apt-get install libfmt-dev")
pkg_check_modules(zstd QUIET IMPORTED_TARGET libzstd)
lacuna_require(zstd_FOUND "zstd" "apt-get install libzstd-dev")
pkg_check_modules(xxhash QUIET IMPORTED_TARGET libxxhash)
lacuna_require(xxhash_FOUND "xxHash" "apt-get install libxxhash-dev")

# CPU samples get their names from it; without it they have addresses.
pkg_check_modules(libdw QUIET IMPORTED_TARGET libdw libelf)
if(LACUNA_BUILD_COLLECTOR AND NOT libdw_FOUND)
  message(WARNING "lacuna: elfutils was not found, so CPU samples will have addresses and no names. Remedy: apt-get "
    "install libdw-dev libelf-dev, or run scripts/setup.")
  list(APPEND LACUNA_LEFT_OUT "names of CPU samples: elfutils (apt-get install libdw-dev libelf-dev)")
endif()

if(LACUNA_BUILD_CLI)
  find_package(CLI11 QUIET)
  lacuna_room_needs(CLI CLI11_FOUND "CLI11" "apt-get install libcli11-dev")
endif()
if(LACUNA_BUILD_ANALYZER OR LACUNA_BUILD_RUNTIME)
  find_package(simdjson QUIET)
  lacuna_room_needs(ANALYZER simdjson_FOUND "simdjson" "apt-get install libsimdjson-dev")
  lacuna_room_needs(RUNTIME simdjson_FOUND "simdjson" "apt-get install libsimdjson-dev")
endif()
if(LACUNA_BUILD_ANALYZER)
  find_package(SQLite3 QUIET)
  lacuna_room_needs(ANALYZER SQLite3_FOUND "SQLite" "apt-get install libsqlite3-dev")
  find_package(ZLIB QUIET)
  lacuna_room_needs(ANALYZER ZLIB_FOUND "zlib" "apt-get install zlib1g-dev")
endif()
if(LACUNA_BUILD_GUI)
  find_package(Qt6 6.4 QUIET COMPONENTS Widgets Svg Test)
  lacuna_room_needs(GUI Qt6_FOUND "Qt 6.4 or newer with Svg" "apt-get install qt6-base-dev qt6-svg-dev")
endif()
if(LACUNA_BUILD_TESTS)
  find_package(GTest QUIET)
  lacuna_require(GTest_FOUND "GoogleTest" "apt-get install libgtest-dev libgmock-dev, or -DLACUNA_BUILD_TESTS=OFF")
endif()
if(LACUNA_BUILD_BENCH)
  find_package(benchmark QUIET)
  lacuna_room_needs(BENCH benchmark_FOUND "Google Benchmark" "apt-get install libbenchmark-dev")
endif()

# CUDA is found, never required.
set(LACUNA_HAVE_CUDA OFF)
set(LACUNA_CUDA_WHY "LACUNA_CUDA=OFF")
if(NOT LACUNA_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    set(LACUNA_HAVE_CUDA ON)
    set(LACUNA_CUDA_WHY "toolkit ${CUDAToolkit_VERSION} in ${CUDAToolkit_TARGET_DIR}")
  elseif(LACUNA_CUDA STREQUAL "ON")
    message(FATAL_ERROR "lacuna: LACUNA_CUDA=ON, but no CUDA toolkit was found. Remedy: install it, put nvcc on the PATH, "
      "or leave LACUNA_CUDA at AUTO to build without the CUDA parts.")
  else()
    set(LACUNA_CUDA_WHY "no toolkit found; put its nvcc on the PATH to build the CUDA parts")
  endif()
endif()

# NVTX is headers only: from the CUDA toolkit, or from the nvidia-nvtx Python package.
include(LacunaNvtx)
lacuna_room_needs(COLLECTOR LACUNA_NVTX_INCLUDE_DIR "the NVTX headers" "install the CUDA toolkit or the nvidia-nvtx Python package, or set NVTX_HOME")
lacuna_room_needs(RUNTIME LACUNA_NVTX_INCLUDE_DIR "the NVTX headers" "install the CUDA toolkit or the nvidia-nvtx Python package, or set NVTX_HOME")

if(LACUNA_BUILD_RUNTIME)
  # Debian's dnnl CMake package wants OpenCL headers, so the library is looked for directly.
  find_library(LACUNA_DNNL_LIBRARY NAMES dnnl)
  find_path(LACUNA_DNNL_INCLUDE_DIR NAMES oneapi/dnnl/dnnl.hpp)
  find_package(OpenMP QUIET COMPONENTS CXX)
  lacuna_room_needs(RUNTIME LACUNA_DNNL_LIBRARY "oneDNN" "apt-get install libdnnl-dev")
  lacuna_room_needs(RUNTIME OpenMP_CXX_FOUND "OpenMP" "use a compiler with OpenMP, such as g++")
  if(LACUNA_BUILD_RUNTIME)
    add_library(lacuna_dnnl INTERFACE IMPORTED)
    add_library(lacuna::dnnl ALIAS lacuna_dnnl)
    target_include_directories(lacuna_dnnl SYSTEM INTERFACE "${LACUNA_DNNL_INCLUDE_DIR}")
    target_link_libraries(lacuna_dnnl INTERFACE "${LACUNA_DNNL_LIBRARY}")
  endif()
endif()

# Rooms that stand on other rooms.
lacuna_room_needs(CLI LACUNA_BUILD_ANALYZER "the analyzer room" "build with LACUNA_BUILD_ANALYZER")
lacuna_room_needs(GUI LACUNA_BUILD_ANALYZER "the analyzer room" "build with LACUNA_BUILD_ANALYZER")
lacuna_room_needs(SAMPLES LACUNA_BUILD_RUNTIME "the runtime room" "build with LACUNA_BUILD_RUNTIME")
