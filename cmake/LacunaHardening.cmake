# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0

# The flags of every program and library of ours, because they read files that strangers made. tests/tools/hardening.py
# checks them on the files that were built. Sanitized builds leave the checks of the C library out: the sanitizers have
# wider ones, and the two get in each other's way.
include(CheckPIESupported)
check_pie_supported()

# Adds a flag that the compiler knows; OUT names it for what is built without lacuna::options.
function(lacuna_harden flag)
  cmake_parse_arguments(arg "" "OUT" "" ${ARGN})
  string(MAKE_C_IDENTIFIER "LACUNA_HAVE${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    target_compile_options(lacuna_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${flag}>)
    if(arg_OUT)
      set(${arg_OUT} ${flag} PARENT_SCOPE)
    endif()
  endif()
endfunction()

if(NOT LACUNA_SANITIZE)
  # Needs optimisation; distributions that define it by themselves define a lower level.
  target_compile_options(lacuna_options INTERFACE
    $<$<AND:$<NOT:$<CONFIG:Debug>>,$<COMPILE_LANGUAGE:C,CXX>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>)
  lacuna_harden(-fstack-protector-strong)
  lacuna_harden(-fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
    lacuna_harden(-fcf-protection=full OUT lacuna_marked_jumps)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    lacuna_harden(-mbranch-protection=standard OUT lacuna_marked_jumps)
  endif()
endif()
# Addresses of functions of other libraries are looked up at the start and are read-only from then on.
target_link_options(lacuna_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
