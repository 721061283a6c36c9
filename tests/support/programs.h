// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lacuna::test {

/// The path of a program of this build. They lie beside the tests, which is found out when a test runs: a path in the
/// object files would keep builds that differ in nothing else from sharing them in a compiler cache.
inline std::string program(const std::string& name) {
  static const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return folder / name;
}

}  // namespace lacuna::test
