# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# Sets LACUNA_NVTX_INCLUDE_DIR and the interface target lacuna::nvtx (headers only, nothing to link but dl). Looked for
# in NVTX_HOME, the CUDA toolkit, the package scripts/setup put into .deps, and Python's nvidia-nvtx package. The
# headers of that package are in nvidia/cu13/include since version 13, and were in nvidia/nvtx/include before.
set(lacuna_nvtx_hints)
if(LACUNA_HAVE_CUDA)
  list(APPEND lacuna_nvtx_hints ${CUDAToolkit_INCLUDE_DIRS})
endif()
file(GLOB lacuna_nvtx_deps "${PROJECT_SOURCE_DIR}/.deps/nvtx/nvidia/*/include")
find_path(LACUNA_NVTX_INCLUDE_DIR NAMES nvtx3/nvToolsExtPayload.h
  HINTS ENV NVTX_HOME ${lacuna_nvtx_hints} ${lacuna_nvtx_deps} ENV CUDA_HOME
  PATHS /usr/local/cuda PATH_SUFFIXES include)
if(NOT LACUNA_NVTX_INCLUDE_DIR)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(Python3_FOUND)
    execute_process(
      COMMAND "${Python3_EXECUTABLE}" -c
        "import glob, nvidia; [print(d) for p in nvidia.__path__ for d in sorted(glob.glob(p + '/*/include'))]"
      OUTPUT_VARIABLE lacuna_nvtx_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(REPLACE "\n" ";" lacuna_nvtx_python "${lacuna_nvtx_python}")
    find_path(LACUNA_NVTX_INCLUDE_DIR NAMES nvtx3/nvToolsExtPayload.h PATHS ${lacuna_nvtx_python} NO_DEFAULT_PATH)
  endif()
endif()
if(LACUNA_NVTX_INCLUDE_DIR)
  add_library(lacuna_nvtx INTERFACE IMPORTED)
  add_library(lacuna::nvtx ALIAS lacuna_nvtx)
  target_include_directories(lacuna_nvtx SYSTEM INTERFACE "${LACUNA_NVTX_INCLUDE_DIR}")
  target_link_libraries(lacuna_nvtx INTERFACE ${CMAKE_DL_LIBS})
endif()
