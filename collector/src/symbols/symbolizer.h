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

/// Finds names for places in a program or library, by its own symbols or by separate debug
/// information that is installed; never from the network. One thread. It reads whatever the file
/// holds, which somebody may have made to crash, hang or bloat it: nameModule() keeps that apart.
class Symbolizer {
 public:
  /// For the file that is open as `fd`, which stays the caller's. `path` names it, for separate
  /// debug information.
  Symbolizer(int fd, const std::string& path);
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;
  /// False in a build without elfutils: then all that find() gives is the address.
  static bool available();
  /// The symbol at `fileOffset` of the file.
  Symbol find(std::uint64_t fileOffset);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::collector::symbols
