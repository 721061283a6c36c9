// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lacuna::gui {

/// Rows of a query's answer as the query made them, packed: their texts behind each other. Filled on any thread, then
/// handed over whole.
struct SqlChunk {
  static constexpr std::size_t kRows = 4096;

  enum class Kind : std::uint8_t { Null, Number, Text };
  int columns = 0;
  std::string text;
  std::vector<std::uint32_t> ends;  ///< of each cell within text
  std::vector<Kind> kinds;

  void add(std::string_view value, Kind kind) {
    text += value;
    ends.push_back(static_cast<std::uint32_t>(text.size()));
    kinds.push_back(kind);
  }
  [[nodiscard]] std::size_t rows() const { return columns == 0 ? 0 : ends.size() / static_cast<std::size_t>(columns); }
  [[nodiscard]] std::string_view cell(std::size_t i) const {
    const std::uint32_t from = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(from, ends[i] - from);
  }
};

/// A query's answer, growing while the query runs. Cells become QStrings only when they are looked at.
class SqlModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  void begin(const QStringList& columns);
  /// All chunks but the last are full.
  void append(std::shared_ptr<const SqlChunk> chunk);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QStringList columns_;
  std::vector<std::shared_ptr<const SqlChunk>> chunks_;
  int rows_ = 0;
};

}  // namespace lacuna::gui
