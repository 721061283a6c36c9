// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <fstream>
#include <system_error>

#include "lacuna/collector/capture.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

bool hasMagic(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;  // to open a pipe waits for a writer
  std::array<char, 8> start{};
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), start.size()) &&
         std::memcmp(start.data(), "LCNCUPT1", start.size()) == 0;
}

}  // namespace

bool isRawCapture(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return hasMagic(path);
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".raw" && hasMagic(entry.path())) return true;
  }
  return false;
}

}  // namespace lacuna::collector
