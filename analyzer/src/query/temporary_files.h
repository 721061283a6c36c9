// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace lacuna::analyzer {

/// The system's files for one connection, with a limit on the bytes of all that are open at once.
/// Rows that a statement sorts, groups or keeps for later go to such files as soon as they outgrow
/// SQLite's cache. SQLite has no setting for their size. Must outlive the connection. One thread at
/// a time.
class TemporaryFiles {
 public:
  TemporaryFiles();
  ~TemporaryFiles();
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;

  /// For sqlite3_open_v2(); null where SQLite has no memory for it.
  [[nodiscard]] const char* name() const { return isThere_ ? name_.c_str() : nullptr; }
  /// 0 is no limit, and what holds at first.
  void setMost(std::uint64_t bytes) { most_ = bytes; }
  [[nodiscard]] std::uint64_t most() const { return most_; }
  /// True when a write was refused since the last reset().
  [[nodiscard]] bool isExceeded() const { return isExceeded_; }
  void reset() { isExceeded_ = false; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// For its files: false where so many more bytes are beyond the limit.
  bool grow(std::uint64_t by);
  void shrink(std::uint64_t by) { bytes_ -= by; }
  [[nodiscard]] sqlite3_vfs* system() const { return system_; }

 private:
  sqlite3_vfs* system_;
  std::string name_;
  sqlite3_vfs vfs_{};
  bool isThere_ = false;
  std::uint64_t most_ = 0;
  std::uint64_t bytes_ = 0;
  bool isExceeded_ = false;
};

}  // namespace lacuna::analyzer
