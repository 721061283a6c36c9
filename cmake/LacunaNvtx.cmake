# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# Sets LACUNA_NVTX_INCLUDE_DIR and the interface target lacuna::nvtx (headers only, nothing to link but dl).
find_path(LACUNA_NVTX_INCLUDE_DIR NAMES nvtx3/nvToolsExtPayload.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME ENV NVTX_HOME
  PATHS /usr/local/cuda PATH_SUFFIXES include)
if(NOT LACUNA_NVTX_INCLUDE_DIR)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(Python3_FOUND)
    execute_process(
      COMMAND "${Python3_EXECUTABLE}" -c "import nvidia.nvtx as n; print(list(n.__path__)[0] + '/include')"
      OUTPUT_VARIABLE lacuna_nvtx_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_path(LACUNA_NVTX_INCLUDE_DIR NAMES nvtx3/nvToolsExtPayload.h PATHS "${lacuna_nvtx_python}" NO_DEFAULT_PATH)
  endif()
endif()
if(LACUNA_NVTX_INCLUDE_DIR)
  add_library(lacuna_nvtx INTERFACE IMPORTED)
  add_library(lacuna::nvtx ALIAS lacuna_nvtx)
  target_include_directories(lacuna_nvtx SYSTEM INTERFACE "${LACUNA_NVTX_INCLUDE_DIR}")
  target_link_libraries(lacuna_nvtx INTERFACE ${CMAKE_DL_LIBS})
endif()
