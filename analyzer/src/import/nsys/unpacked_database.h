// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "lacuna/prof/budget.h"
#include "lacuna/prof/result.h"

struct sqlite3;

namespace lacuna::analyzer {

/// A database that was compressed, as it lies in memory that its file backs: a temporary one
/// without a name.
class UnpackedDatabase {
 public:
  static prof::Result<std::unique_ptr<UnpackedDatabase>> from(const std::filesystem::path& path,
                                                              const prof::Budget& budget);
  ~UnpackedDatabase();
  UnpackedDatabase(const UnpackedDatabase&) = delete;
  UnpackedDatabase& operator=(const UnpackedDatabase&) = delete;

  /// While this object lives.
  int openAs(sqlite3** db) const;

 private:
  explicit UnpackedDatabase(std::span<unsigned char> bytes) : bytes_(bytes) {}
  /// A packed database comes without its write-ahead log, so its header is changed to need none.
  void forgetLog();

  std::span<unsigned char> bytes_;
};

}  // namespace lacuna::analyzer
