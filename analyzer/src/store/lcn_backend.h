// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>

#include "lacuna/prof/reader.h"
#include "store/backend.h"

namespace lacuna::analyzer {

/// Tables of an .lcn file, decoded on demand. `column` decodes a column once and keeps it; `scan`
/// decodes block by block and keeps only what overlapping blocks make it wait for.
class LcnBackend final : public Store::Backend {
 public:
  explicit LcnBackend(prof::Reader reader);
  ~LcnBackend() override;

  [[nodiscard]] std::uint64_t rows(std::size_t table) const override;
  [[nodiscard]] ColumnView column(std::size_t table, std::size_t column) const override;
  prof::Status scan(std::size_t table, std::span<const std::size_t> columns,
                    prof::TimeWindow window,
                    const std::function<bool(const RowBlock&)>& visit) const override;
  [[nodiscard]] std::unique_ptr<RowStream> stream(std::size_t table,
                                                  std::span<const std::size_t> columns,
                                                  prof::TimeWindow window) const override;
  void readRow(std::size_t table, std::uint64_t row, std::span<const std::size_t> columns,
               std::span<std::byte* const> out) const override;
  [[nodiscard]] std::string_view text(prof::StringId id) const override { return reader_.text(id); }
  [[nodiscard]] prof::StringId find(std::string_view text) const override;
  [[nodiscard]] std::uint32_t stringCount() const override { return reader_.stringCount(); }
  [[nodiscard]] prof::TimeWindow span() const override;
  [[nodiscard]] std::vector<std::string> warnings() const override;
  [[nodiscard]] std::uint64_t damagedReads() const override { return damagedReads_; }
  [[nodiscard]] const std::filesystem::path& path() const override { return reader_.path(); }
  [[nodiscard]] const prof::Reader* reader() const override { return &reader_; }

 private:
  struct Table;
  class Scan;
  class Stream;
  struct Around;

  [[nodiscard]] std::vector<std::byte> decode(std::size_t table, std::size_t column,
                                              bool& damaged) const;
  [[nodiscard]] std::shared_ptr<const Around> rowsAround(
      Table& table, std::uint64_t row, std::span<const std::size_t> columns) const;
  /// False when the block is damaged and reads as zeros.
  bool readBlock(const prof::BlockInfo& block, std::span<const prof::ColumnSpec> wanted,
                 std::span<void* const> out) const;

  /// Brings values back to the bounds of their column.
  void bound(const prof::BlockInfo& block, const prof::ColumnSpec& column, void* values) const;

  prof::Reader reader_;
  std::vector<std::unique_ptr<Table>> tables_;
  mutable std::mutex textMutex_;
  mutable std::unordered_map<std::string_view, prof::StringId> ids_;
  mutable std::atomic<std::uint64_t> damagedReads_{0};
  mutable std::mutex warningMutex_;
  mutable std::map<std::uint64_t, std::string> lateWarnings_;  ///< by the block's place in the file
  /// Values that were brought back to their bounds, by the block's place and the column's name.
  mutable std::map<std::pair<std::uint64_t, std::string_view>, std::uint64_t> far_;
};

}  // namespace lacuna::analyzer
