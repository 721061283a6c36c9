# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# LACUNA_PORTABLE=FOLDER builds programs that start on older systems: they need only the C library, in the version that
# lies in FOLDER. The folder is made by scripts/wheel. It also holds the sources of libraries that distributions ship
# only as shared libraries.
set(LACUNA_PORTABLE "" CACHE PATH "A folder of scripts/wheel with an older C library: link all else statically")
if(NOT LACUNA_PORTABLE)
  return()
endif()
if(NOT EXISTS "${LACUNA_PORTABLE}/lacuna-portable")
  message(FATAL_ERROR "lacuna: LACUNA_PORTABLE=${LACUNA_PORTABLE} was not made by scripts/wheel. Remedy: scripts/wheel "
    "--folder-only makes one and prints its name, or leave LACUNA_PORTABLE empty.")
endif()

# -B, because the compiler searches the folders beside its own before those of --sysroot.
set(lacuna_portable_flags "--sysroot=${LACUNA_PORTABLE} -B${LACUNA_PORTABLE}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/ \
-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL")
foreach(kind IN ITEMS EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS " ${lacuna_portable_flags}")
endforeach()
# Parts of the C library until 2.34.
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_STANDARD_LIBRARIES "-Wl,--as-needed -lpthread -ldl -lrt -lm")
endforeach()

file(GLOB lacuna_fmt_source "${LACUNA_PORTABLE}/src/fmtlib-*")
add_library(lacuna_fmt STATIC "${lacuna_fmt_source}/src/format.cc" "${lacuna_fmt_source}/src/os.cc")
target_include_directories(lacuna_fmt SYSTEM PUBLIC "${lacuna_fmt_source}/include")
add_library(fmt::fmt ALIAS lacuna_fmt)

file(GLOB lacuna_simdjson_source "${LACUNA_PORTABLE}/src/simdjson-*")
add_library(lacuna_simdjson STATIC "${lacuna_simdjson_source}/singleheader/simdjson.cpp")
target_include_directories(lacuna_simdjson SYSTEM PUBLIC "${lacuna_simdjson_source}/singleheader")
target_compile_definitions(lacuna_simdjson PUBLIC SIMDJSON_THREADS_ENABLED=1)
target_compile_options(lacuna_simdjson PRIVATE -w)
add_library(simdjson::simdjson ALIAS lacuna_simdjson)
foreach(name IN ITEMS fmt simdjson)
  target_compile_features(lacuna_${name} PUBLIC cxx_std_17)
  string(REGEX MATCH "[0-9]+\\.[0-9.]*[0-9]" ${name}_VERSION "${lacuna_${name}_source}")
  set(${name}_FOUND ON)
endforeach()

# Libraries linked statically are passed on, and so are their licences. Debian has these with each package.
set(lacuna_licences "${CMAKE_INSTALL_DOCDIR}/licences")
install(FILES "${lacuna_fmt_source}/LICENSE.rst" DESTINATION "${lacuna_licences}" RENAME fmt COMPONENT cli)
install(FILES "${lacuna_simdjson_source}/LICENSE" DESTINATION "${lacuna_licences}" RENAME simdjson COMPONENT cli)
foreach(package IN ITEMS libzstd-dev libxxhash-dev libcli11-dev libsqlite3-dev zlib1g-dev libdw-dev liblzma-dev libbz2-dev)
  install(FILES "/usr/share/doc/${package}/copyright" DESTINATION "${lacuna_licences}" RENAME ${package} COMPONENT cli)
endforeach()
foreach(licence IN ITEMS GPL-2 GPL-3 LGPL-3)  # elfutils
  install(FILES "/usr/share/common-licenses/${licence}" DESTINATION "${lacuna_licences}" COMPONENT cli)
endforeach()
