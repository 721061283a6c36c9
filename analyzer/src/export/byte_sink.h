// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

/// A file that is written from front to back, compressed when its name ends in .gz or .zst. A
/// failure is remembered and answered by finish().
class ByteSink {
 public:
  static prof::Result<std::unique_ptr<ByteSink>> create(const std::filesystem::path& path);
  virtual ~ByteSink() = default;

  void write(std::string_view bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kBufferBytes) drain();
  }
  /// Writes what is left and closes the file.
  prof::Status finish();

 protected:
  static constexpr std::size_t kBufferBytes = 1 << 18;
  virtual bool put(std::string_view bytes, bool last) = 0;

  std::string buffer_;
  std::string problem_;

 private:
  void drain();

  std::filesystem::path path_;
};

}  // namespace lacuna::analyzer
