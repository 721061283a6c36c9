# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# A bill of materials (CycloneDX 1.5, JSON) of what this build links or includes, in the versions that were found. It is
# installed beside the licence. tests/tools/sbom_test.py checks that no library is missing. docs/licences.md is for people.

# The number behind `#define NAME` in a header; "unknown" where there is none.
function(lacuna_defined_number header name out)
  set(${out} unknown PARENT_SCOPE)
  if(EXISTS "${header}")
    file(STRINGS "${header}" lines REGEX "^#define +${name} +[0-9]+")
    if(lines MATCHES "${name} +([0-9]+)")
      set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# lacuna_bom_component(NAME VERSION LICENCE HOW [LIBRARIES sonames without what follows .so…])
function(lacuna_bom_component name version licence how)
  cmake_parse_arguments(arg "" "" "LIBRARIES" ${ARGN})
  if(version STREQUAL "")
    set(version unknown)
  endif()
  set(properties "{\"name\": \"lacuna:linked\", \"value\": \"${how}\"}")
  foreach(library IN LISTS arg_LIBRARIES)
    string(APPEND properties ", {\"name\": \"lacuna:library\", \"value\": \"${library}\"}")
  endforeach()
  string(TOLOWER "${name}" lower)
  set(component "{\"type\": \"library\", \"bom-ref\": \"${lower}\", \"name\": \"${name}\", \"version\": \"${version}\",
    \"purl\": \"pkg:generic/${lower}@${version}\", \"licenses\": [{\"expression\": \"${licence}\"}],
    \"properties\": [${properties}]}")
  string(JSON count LENGTH "${lacuna_bom}" components)
  string(JSON lacuna_bom SET "${lacuna_bom}" components ${count} "${component}")
  string(JSON count LENGTH "${lacuna_bom}" dependencies 0 dependsOn)
  string(JSON lacuna_bom SET "${lacuna_bom}" dependencies 0 dependsOn ${count} "\"${lower}\"")
  set(lacuna_bom "${lacuna_bom}" PARENT_SCOPE)
endfunction()

set(lacuna_bom "{\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1,
  \"metadata\": {\"component\": {\"type\": \"application\", \"bom-ref\": \"lacuna\", \"name\": \"lacuna\",
    \"version\": \"${PROJECT_VERSION}\", \"purl\": \"pkg:generic/lacuna@${PROJECT_VERSION}\",
    \"licenses\": [{\"expression\": \"Apache-2.0\"}]}},
  \"components\": [], \"dependencies\": [{\"ref\": \"lacuna\", \"dependsOn\": []}]}")
# A portable build links statically what others share.
set(linked shared)
if(LACUNA_PORTABLE)
  set(linked static)
endif()
lacuna_bom_component(fmt "${fmt_VERSION}" MIT ${linked} LIBRARIES libfmt)
lacuna_bom_component(zstd "${zstd_VERSION}" "BSD-3-Clause OR GPL-2.0-only" ${linked} LIBRARIES libzstd)
lacuna_bom_component(xxHash "${xxhash_VERSION}" BSD-2-Clause ${linked} LIBRARIES libxxhash)
lacuna_bom_component(GCC-runtime "${CMAKE_CXX_COMPILER_VERSION}" "GPL-3.0-only WITH GCC-exception-3.1" ${linked}
  LIBRARIES libstdc++ libgcc_s libgomp)
if(LACUNA_BUILD_ANALYZER OR LACUNA_BUILD_RUNTIME)
  lacuna_bom_component(simdjson "${simdjson_VERSION}" "Apache-2.0 OR MIT" ${linked} LIBRARIES libsimdjson)
endif()
if(LACUNA_BUILD_ANALYZER)
  lacuna_bom_component(SQLite "${SQLite3_VERSION}" blessing ${linked} LIBRARIES libsqlite3)
  lacuna_bom_component(zlib "${ZLIB_VERSION}${ZLIB_VERSION_STRING}" Zlib ${linked} LIBRARIES libz)
endif()
if(LACUNA_BUILD_CLI)
  lacuna_bom_component(CLI11 "${CLI11_VERSION}" BSD-3-Clause headers)
endif()
if(LACUNA_BUILD_COLLECTOR AND libdw_FOUND)
  lacuna_bom_component(elfutils "${libdw_libdw_VERSION}" "LGPL-3.0-or-later OR GPL-2.0-or-later" ${linked}
    LIBRARIES libdw libelf)
  if(LACUNA_PORTABLE)
    lacuna_bom_component(liblzma "${libdw_needs_liblzma_VERSION}" 0BSD static)
    lacuna_bom_component(bzip2 1.0 bzip2-1.0.6 static)
  endif()
endif()
if(LACUNA_BUILD_GUI)
  lacuna_bom_component(Qt "${Qt6_VERSION}" "LGPL-3.0-only OR GPL-2.0-only OR GPL-3.0-only" shared
    LIBRARIES libQt6Core libQt6Gui libQt6Widgets libQt6Svg)
endif()
if(LACUNA_BUILD_RUNTIME)
  set(version_parts)
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    lacuna_defined_number("${LACUNA_DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" DNNL_VERSION_${part} number)
    list(APPEND version_parts ${number})
  endforeach()
  list(JOIN version_parts "." dnnl_version)
  lacuna_bom_component(oneDNN "${dnnl_version}" Apache-2.0 shared LIBRARIES libdnnl)
endif()
if(LACUNA_NVTX_INCLUDE_DIR)
  lacuna_defined_number("${LACUNA_NVTX_INCLUDE_DIR}/nvtx3/nvToolsExt.h" NVTX_VERSION nvtx_version)
  lacuna_bom_component(NVTX "${nvtx_version}" "Apache-2.0 WITH LLVM-exception" headers)
endif()
file(WRITE "${PROJECT_BINARY_DIR}/lacuna.cdx.json" "${lacuna_bom}\n")
install(FILES "${PROJECT_BINARY_DIR}/lacuna.cdx.json" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT cli)
