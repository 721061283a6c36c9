// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "lacuna/prof/events.h"
#include "lacuna/prof/place_file.h"
#include "lacuna/prof/result.h"

namespace lacuna::prof {

struct WriterOptions {
  /// Rows per block, at most 1,048,576. More compress better, fewer are visible sooner to a reader
  /// that follows the file.
  std::uint32_t blockRows = 65536;
  int zstdLevel = 1;
};

/// Writes one .lcn file. Blocks reach the file whole and in order, and the strings of a block are
/// in the file before it. So flushed data can be read even if the writing process dies. One thread
/// at a time; rows of a table need not be in time order, but compress best when they are.
///
/// A failure to write (a full disk) is remembered: rows appended after it are dropped, and
/// status(), flush() and finish() answer it. Rows that were written before stay readable.
class Writer {
 public:
  /// Creates or truncates `path`.
  static Result<Writer> create(const std::filesystem::path& path,
                               const WriterOptions& options = {});
  /// Opens a finished file to add blocks to it (tables that an analysis derived, for one); finish()
  /// writes a new end. Texts of the file keep their ids. Derived blocks at the end of the file go:
  /// they describe what it held before. A file with damage or without its end is refused: recover
  /// it first.
  static Result<Writer> extend(const std::filesystem::path& path,
                               const WriterOptions& options = {});
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  /// Closes the file as it stands: without finish() it has no index, and opens with a note that its
  /// end is missing.
  ~Writer();

  /// The id of a text within this file; the same text always gets the same id.
  StringId intern(std::string_view text);

  template <class Row>
  void append(const Row& row) {
    appendRow(tableSpec<Row>(), &row, &packRow<Row>);
  }
  /// Appends a struct of arrays at once; the fast path for bulk producers.
  template <class Row>
  void append(const typename Row::Columns& columns) {
    std::array<const void*, Row::columns().size()> data{};
    std::size_t index = 0;
    std::size_t rows = 0;
    columns.forEach([&](const auto& values) {
      assert(index == 0 || values.size() == rows);
      rows = values.size();
      data[index++] = values.data();
    });
    appendColumns(tableSpec<Row>(), data, rows);
  }
  /// The same for a table known only at run time: one array of `rows` values for each column, in
  /// the order of `table`. The data that `table` points to must outlive the writer.
  void appendColumns(const TableSpec& table, std::span<const void* const> columns,
                     std::size_t rows);

  /// Appends bytes that were derived from the rows and can be had from them again. They form one
  /// block after everything appended so far; readers find it by the name of the product. At most
  /// 256 MiB in all, and 1,000 sections. Answers the block's place in the file, or 0 after a
  /// failure.
  std::uint64_t appendDerived(std::string_view product,
                              std::span<const std::span<const std::byte>> sections);
  /// Takes back what appendDerived() appended, after a full disk for one; rows may not have been
  /// appended since.
  Status withdrawDerived();
  /// Gives the file another name on its file system, in one step.
  Status moveTo(const std::filesystem::path& path, Existing existing = Existing::Replace);
  /// Writes what is buffered as blocks of their own. After success a reader sees every row appended
  /// so far.
  Status flush();
  /// Flushes, writes the index and closes the file.
  Status finish();
  /// The first failure, if there was one.
  [[nodiscard]] Status status() const;
  /// Bytes in the file so far, and rows appended so far.
  [[nodiscard]] std::uint64_t bytesWritten() const;
  [[nodiscard]] std::uint64_t rowsAppended() const;

 private:
  friend class RawWriter;
  struct Impl;
  using PackRow = void (*)(const void* row, std::byte* const* columns, std::size_t at);

  explicit Writer(std::unique_ptr<Impl> impl);

  template <class Row>
  static void packRow(const void* row, std::byte* const* columns, std::size_t at) {
    const Row& from = *static_cast<const Row*>(row);
    Row::forEachMember([&]<auto Member>() {
      const auto& value = from.*Member;
      std::memcpy(*columns++ + at * sizeof value, &value, sizeof value);
    });
  }
  void appendRow(const TableSpec& table, const void* row, PackRow pack);

  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::prof
