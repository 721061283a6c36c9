// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace lacuna::collector::symbols {

/// Without the prefix the name of a C function could be taken for a type: f for float.
inline bool isMangled(std::string_view symbol) {
  return symbol.starts_with("_Z");
}

/// "_Z4axpyPf" is a symbol; people know axpy(float*). A symbol of a few hundred bytes may keep this
/// busy for hours and take all memory: those that come from outside are for demangleApart().
inline std::string demangled(const std::string& symbol) {
  if (!isMangled(symbol)) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && plain ? std::string(plain.get()) : symbol;
}

}  // namespace lacuna::collector::symbols
