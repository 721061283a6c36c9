// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/backend.h"
#include "store/string_pool.h"

namespace lacuna::analyzer {

/// One table in memory: the owner of each column and a view of it.
struct MemoryTable {
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<ColumnView> columns;
  std::uint64_t rows = 0;
  /// For each kScanRows rows: the first start and the last end.
  std::vector<prof::TimeWindow> blocks;
};

/// Tables that are whole in memory.
class MemoryBackend final : public Store::Backend {
 public:
  MemoryBackend(std::vector<MemoryTable> tables, StringPool strings,
                std::vector<std::string> warnings, std::filesystem::path path);

  [[nodiscard]] std::uint64_t rows(std::size_t table) const override { return tables_[table].rows; }
  [[nodiscard]] ColumnView column(std::size_t table, std::size_t column) const override {
    return tables_[table].columns[column];
  }
  prof::Status scan(std::size_t table, std::span<const std::size_t> columns,
                    prof::TimeWindow window,
                    const std::function<bool(const RowBlock&)>& visit) const override;
  void readRow(std::size_t table, std::uint64_t row, std::span<const std::size_t> columns,
               std::span<std::byte* const> out) const override;
  [[nodiscard]] std::string_view text(prof::StringId id) const override {
    return strings_.text(id);
  }
  [[nodiscard]] prof::StringId find(std::string_view text) const override {
    return strings_.find(text);
  }
  [[nodiscard]] std::uint32_t stringCount() const override { return strings_.size(); }
  [[nodiscard]] prof::TimeWindow span() const override { return span_; }
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }
  [[nodiscard]] const std::filesystem::path& path() const override { return path_; }

 private:
  std::vector<MemoryTable> tables_;
  StringPool strings_;
  std::vector<std::string> warnings_;
  std::filesystem::path path_;
  prof::TimeWindow span_{0, 0};
};

/// The time bounds of each kScanRows rows of a table that is in time order; one unbounded block
/// when it has no time.
std::vector<prof::TimeWindow> blockBounds(const prof::TableSpec& spec, const MemoryTable& table);

}  // namespace lacuna::analyzer
