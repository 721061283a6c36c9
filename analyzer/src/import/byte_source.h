// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "lacuna/prof/budget.h"
#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

/// The bytes of a file from front to back, decompressed when it is gz or zstd (recognised by its
/// content). One thread at a time.
class ByteSource {
 public:
  static prof::Result<std::unique_ptr<ByteSource>> open(
      const std::filesystem::path& path, const prof::Budget& budget = prof::Budget::ofProcess());
  virtual ~ByteSource() = default;

  /// Fills up to `capacity` bytes; fewer only at the end. A compressed file that ends early, is
  /// damaged or unpacks to more than the budget allows reads as far as it goes, and problem()
  /// reports it.
  virtual std::size_t read(char* to, std::size_t capacity) = 0;
  /// The size of the file on the disk.
  [[nodiscard]] virtual std::uint64_t fileBytes() const = 0;
  /// The share of the file that has been read, 0 … 1.
  [[nodiscard]] virtual double progress() const = 0;
  [[nodiscard]] virtual bool isCompressed() const { return false; }
  /// The cause that ended the reading before the end of the data; empty when nothing did.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 protected:
  std::string problem_;
};

}  // namespace lacuna::analyzer
