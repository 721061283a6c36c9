// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace lacuna::test {

/// A path in the temporary folder that no other test has, removed at the end.
class TempFile {
 public:
  explicit TempFile(std::string_view ending = "") {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("lacuna-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++) +
             std::string(ending));
  }
  TempFile(std::string_view ending, std::string_view content) : TempFile(ending) { write(content); }
  ~TempFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  void write(std::string_view content) const {
    std::ofstream(path_, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lacuna::test
