// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lacuna::collector::symbols {

struct Symbol {
  std::uint64_t address = 0;  ///< as the module's file counts addresses
  std::string function;       ///< demangled; empty when unknown
  std::string file;           ///< where there is debug information
  std::uint32_t line = 0;
};

/// Finds names for places in programs and libraries, by their own symbols or by separate debug information that is
/// installed; never from the network. Keeps what it has read. One thread.
class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  /// False in a build without elfutils: then all that find() gives is the address.
  static bool available();
  /// The symbol at `fileOffset` of the module at `path`.
  Symbol find(const std::string& path, std::uint64_t fileOffset);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::collector::symbols
