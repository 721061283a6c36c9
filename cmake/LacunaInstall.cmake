# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# Installs the results of the rooms; called once at the end, so the rooms need not think of it. Each component gets its
# library, its headers, an exported target lacuna::NAME and a pkg-config file. Programs and plugins come too.
include(CMakePackageConfigHelpers)
set(lacuna_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lacuna")
set(LACUNA_INSTALLED_COMPONENTS)

# Every target that a folder and the folders below it define, by type.
function(lacuna_targets_of folder types out)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  set(found)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type IN_LIST types)
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    lacuna_targets_of("${below}" "${types}" more)
    list(APPEND found ${more})
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# lacuna_install_library(COMPONENT TARGETS t… [USES components…] [REQUIRES pkg-config modules…] [LIBS -l…])
# All but prof_record are static, so what they link privately must be known to whoever links them: REQUIRES and LIBS for
# pkg-config, and the find_dependency calls of lacuna-config.cmake.in for CMake.
function(lacuna_install_library component)
  cmake_parse_arguments(arg "" "" "TARGETS;USES;REQUIRES;LIBS" ${ARGN})
  set(export EXPORT lacuna-${component})
  if(LACUNA_PORTABLE)  # nobody links against it
    set(export)
  endif()
  install(TARGETS ${arg_TARGETS} ${export} ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    OBJECTS DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT recorder)
  if(export)
    install(${export} FILE lacuna-${component}-targets.cmake NAMESPACE lacuna:: DESTINATION "${lacuna_cmake_dir}")
  endif()

  set(PC_NAME lacuna_${component})
  list(TRANSFORM arg_USES PREPEND lacuna_)
  string(JOIN ", " PC_REQUIRES ${arg_USES} ${arg_REQUIRES})
  set(PC_LIBS)
  foreach(target IN LISTS arg_TARGETS)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY" OR type STREQUAL "SHARED_LIBRARY")
      get_target_property(output ${target} OUTPUT_NAME)
      if(NOT output)
        set(output ${target})
      endif()
      list(APPEND PC_LIBS -l${output})
    endif()
  endforeach()
  string(JOIN " " PC_LIBS ${PC_LIBS} ${arg_LIBS})
  file(RELATIVE_PATH PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /p)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/lacuna.pc.in" "${PROJECT_BINARY_DIR}/pkgconfig/${PC_NAME}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/${PC_NAME}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  set(LACUNA_INSTALLED_COMPONENTS ${LACUNA_INSTALLED_COMPONENTS} ${component} PARENT_SCOPE)
endfunction()

function(lacuna_install_headers folder)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/include")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
      FILES_MATCHING PATTERN "*.h")
  endif()
endfunction()

set(lacuna_libraries STATIC_LIBRARY INTERFACE_LIBRARY OBJECT_LIBRARY)
lacuna_install_headers(libprof)
if(TARGET lacuna_prof_record)
  lacuna_install_library(prof_record TARGETS lacuna_prof_record LIBS -pthread)
endif()
lacuna_targets_of("${PROJECT_SOURCE_DIR}/libprof" "${lacuna_libraries}" lacuna_prof_targets)
# prof_guest is for our own injected libraries: beside prof_record a program would have two recorders.
list(REMOVE_ITEM lacuna_prof_targets lacuna_prof_record lacuna_prof_guest)
set(lacuna_prof_uses)
if(TARGET lacuna_prof_record)
  set(lacuna_prof_uses USES prof_record)
endif()
lacuna_install_library(prof TARGETS ${lacuna_prof_targets} ${lacuna_prof_uses}
  REQUIRES fmt libzstd libxxhash LIBS -pthread -lstdc++)

# Modules of pkg-config beside those of prof; lacuna-config.cmake.in asks for them too.
set(LACUNA_COLLECTOR_MODULES)
if(libdw_FOUND)
  set(LACUNA_COLLECTOR_MODULES libdw libelf)
endif()
foreach(room IN ITEMS collector runtime analyzer)
  string(TOUPPER ${room} upper)
  if(NOT LACUNA_BUILD_${upper} OR NOT TARGET lacuna_${room})
    continue()
  endif()
  lacuna_targets_of("${PROJECT_SOURCE_DIR}/${room}" "${lacuna_libraries}" targets)
  set(collector_needs USES prof REQUIRES fmt ${LACUNA_COLLECTOR_MODULES} LIBS -pthread -ldl -lstdc++)
  set(analyzer_needs USES prof REQUIRES fmt simdjson sqlite3 zlib libzstd libxxhash LIBS -pthread -lstdc++)
  set(runtime_needs LIBS -ldnnl -lsimdjson ${OpenMP_CXX_FLAGS} -pthread -ldl -lstdc++)
  lacuna_install_library(${room} TARGETS ${targets} ${${room}_needs})
  lacuna_install_headers(${room})
endforeach()

# The libraries that `lacuna run` loads into other programs lie beside the programs, in lib/lacuna. They need no library
# of ours, so they get no path to search.
foreach(room IN ITEMS libprof collector runtime cli gui)
  string(TOUPPER ${room} upper)
  if(room STREQUAL "libprof" OR LACUNA_BUILD_${upper})
    if(EXISTS "${PROJECT_SOURCE_DIR}/${room}/CMakeLists.txt")
      lacuna_targets_of("${PROJECT_SOURCE_DIR}/${room}" "SHARED_LIBRARY;MODULE_LIBRARY" plugins)
      list(REMOVE_ITEM plugins lacuna_prof_record)
      if(plugins)
        install(TARGETS ${plugins} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/lacuna" COMPONENT cli)
      endif()
    endif()
  endif()
endforeach()
foreach(room IN ITEMS cli gui)
  string(TOUPPER ${room} upper)
  if(LACUNA_BUILD_${upper} AND EXISTS "${PROJECT_SOURCE_DIR}/${room}/CMakeLists.txt")
    lacuna_targets_of("${PROJECT_SOURCE_DIR}/${room}" EXECUTABLE programs)
    if(programs)
      file(RELATIVE_PATH libraries "/p/${CMAKE_INSTALL_BINDIR}" "/p/${CMAKE_INSTALL_LIBDIR}")
      # The installed path in the build tree too. CMake would end another one with an empty element, to replace it later,
      # and an empty element is the working folder.
      set(paths "$ORIGIN/../lib" "$ORIGIN/${libraries}")
      list(REMOVE_DUPLICATES paths)
      set_target_properties(${programs} PROPERTIES INSTALL_RPATH "${paths}" INSTALL_RPATH_USE_LINK_PATH ON
        BUILD_WITH_INSTALL_RPATH ON)
      install(TARGETS ${programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT ${room})
    endif()
  endif()
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/lacuna-config.cmake.in"
  "${PROJECT_BINARY_DIR}/lacuna-config.cmake" INSTALL_DESTINATION "${lacuna_cmake_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/lacuna-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/lacuna-config.cmake" "${PROJECT_BINARY_DIR}/lacuna-config-version.cmake"
  DESTINATION "${lacuna_cmake_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT cli)
