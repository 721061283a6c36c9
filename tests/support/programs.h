// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lacuna::test {

/// The path of a program of this build. Programs lie beside the tests, and a test finds its own
/// folder at run time. A path in the object files would keep builds from sharing them in a compiler
/// cache.
inline std::string program(const std::string& name) {
  static const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return folder / name;
}

}  // namespace lacuna::test
