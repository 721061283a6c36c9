# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# Debian packages: `cpack --config build/release/CPackConfig.cmake`, or scripts/deb, which also tries them. One package for
# each component of the installation.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lacuna)
set(CPACK_PACKAGE_CONTACT "The Lacuna authors <lacuna@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_COMPONENTS_ALL cli recorder devel)
if(LACUNA_BUILD_GUI)
  list(APPEND CPACK_COMPONENTS_ALL gui)
endif()

# lacuna_package(COMPONENT NAME SUMMARY TEXT [NEEDS other packages of ours…] [DEPENDS others'…])
macro(lacuna_package component name summary text)
  cmake_parse_arguments(arg "" "" "NEEDS;DEPENDS" ${ARGN})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  # The first line of a description is the summary.
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${text}")
  set(depends ${arg_DEPENDS})
  foreach(needed IN LISTS arg_NEEDS)
    list(APPEND depends "${needed} (= ${PROJECT_VERSION})")
  endforeach()
  string(JOIN ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS ${depends})
endmacro()
lacuna_package(recorder liblacuna-prof-record "records events from inside a program"
  "The library that programs link to record their own ranges, counters and marks.")
lacuna_package(cli lacuna "profiler for neural-network training"
  "Records a training run, prices what the device waits for, names the change that removes it, and predicts its gain."
  NEEDS liblacuna-prof-record)
lacuna_package(gui lacuna-gui "timeline and reports of training runs"
  "The desktop program that shows the traces of lacuna and of other profilers." NEEDS lacuna)
lacuna_package(devel liblacuna-dev "files to build against lacuna's libraries"
  "Headers, static libraries, CMake and pkg-config files: recording, reading traces, analyses, the tensor runtime."
  NEEDS liblacuna-prof-record
  DEPENDS libfmt-dev libzstd-dev libxxhash-dev libsimdjson-dev libsqlite3-dev zlib1g-dev libdw-dev libelf-dev)
set(CPACK_DEBIAN_RECORDER_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
include(CPack)
