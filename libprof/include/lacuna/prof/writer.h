// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "lacuna/prof/events.h"
#include "lacuna/prof/result.h"

namespace lacuna::prof {

struct WriterOptions {
  /// Rows per block. More compress better, fewer are visible sooner to a reader that follows the file.
  std::uint32_t blockRows = 65536;
  int zstdLevel = 1;
};

/// Writes one .lcn file. Blocks reach the file whole and in order, so that whatever was flushed can be read even if the
/// writing process dies. One thread at a time; rows of a table need not be in time order, but compress best when they are.
class Writer {
 public:
  /// Creates or truncates `path`.
  static Result<Writer> create(const std::filesystem::path& path, const WriterOptions& options = {});
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  /// Closes the file as it stands: without finish() it has no index, and opens with a note that its end is missing.
  ~Writer();

  /// The id of a text within this file; the same text always gets the same id.
  StringId intern(std::string_view text);

  template <class Row>
  void append(const Row& row) {
    appendRow(tableSpec<Row>(), &row, &packRow<Row>);
  }
  /// Appends a struct of arrays at once; the fast path for bulk producers.
  template <class Row>
  void append(const typename Row::Columns& columns);

  /// Writes what is buffered as blocks of their own. After success a reader sees every row appended so far.
  Status flush();
  /// Flushes, writes the index and closes the file.
  Status finish();
  /// Bytes in the file so far, and rows appended so far.
  [[nodiscard]] std::uint64_t bytesWritten() const;
  [[nodiscard]] std::uint64_t rowsAppended() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::prof
