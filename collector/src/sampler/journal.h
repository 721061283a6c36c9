// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lacuna::collector::sampler {

/// A file beside the recording that only grows, so that what it was given outlives this process.
class Journal {
 public:
  /// Where the frames of a recording are kept.
  static std::filesystem::path framesOf(const std::filesystem::path& recording) {
    return recording / "frames";
  }

  explicit Journal(const std::filesystem::path& path);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();
  /// After a failure (a full disk) nothing is appended any more: what follows would not be
  /// understood.
  void append(const std::string& bytes);

 private:
  int fd_ = -1;
};

}  // namespace lacuna::collector::sampler
