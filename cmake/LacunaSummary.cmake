# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
message(STATUS "lacuna ${PROJECT_VERSION}: CUDA ${LACUNA_HAVE_CUDA}, collector ${LACUNA_BUILD_COLLECTOR}, "
  "runtime ${LACUNA_BUILD_RUNTIME}, analyzer ${LACUNA_BUILD_ANALYZER}, cli ${LACUNA_BUILD_CLI}, gui ${LACUNA_BUILD_GUI}")
foreach(line IN LISTS LACUNA_LEFT_OUT)
  message(STATUS "  left out: ${line}")
endforeach()
